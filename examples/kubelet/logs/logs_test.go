package logs_test

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed3bce33ad/listwatch/examples/kubelet/logs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// second is when line n of a test's log was written.
func second(n int) string { return fmt.Sprintf("2026-11-01T10:00:%02d.5Z", n) }

// newLog writes a log, in which %n stands for the time of second n.
func newLog(t testing.TB, text string) string {
	t.Helper()
	for n := range 10 {
		text = strings.ReplaceAll(text, fmt.Sprintf("%%%d", n), second(n))
	}
	path := filepath.Join(t.TempDir(), "0.log")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// read reads a log as a query asks for it.
func read(t testing.TB, path, query string) string {
	t.Helper()
	q, err := url.ParseQuery(query)
	require.NoError(t, err)
	o, problems := logs.Parse(q)
	require.Empty(t, problems)
	var out bytes.Buffer
	require.NoError(t, logs.Read(t.Context(), path, o, logs.Source{}, &out))
	return out.String()
}

const story = "%0 stdout F one\n%1 stderr F two \n%2 stdout P three, \n%3 stdout P which is\n%4 stdout F  long\n%5 stdout F \n%6 stdout F last\n"

func TestRead(t *testing.T) {
	path := newLog(t, story)
	for query, want := range map[string]string{
		"":                                    "one\ntwo \nthree, which is long\n\nlast\n",
		"tailLines=0":                         "",
		"tailLines=1":                         "last\n",
		"tailLines=2":                         "\nlast\n",
		"tailLines=100":                       "one\ntwo \nthree, which is long\n\nlast\n",
		"limitBytes=5":                        "one\nt",
		"limitBytes=5&tailLines=1":            "last\n",
		"timestamps=true&limitBytes=34":       "2026-11-01T10:00:00.500000000Z one",
		"sinceTime=" + "2026-11-01T10:00:05Z": "\nlast\n",
		"sinceTime=" + "2026-11-01T10:01:00Z": "",
		"sinceSeconds=1":                      "",
		"timestamps=true&sinceTime=2026-11-01T10:00:02Z": "2026-11-01T10:00:02.500000000Z three, which is long\n" +
			"2026-11-01T10:00:05.500000000Z \n2026-11-01T10:00:06.500000000Z last\n",
	} {
		require.Equal(t, want, read(t, path, query), query)
	}
	require.Equal(t, "", read(t, path+".none", ""), "a container that has written nothing")
	require.Equal(t, "", read(t, newLog(t, ""), "tailLines=3"))
	require.Equal(t, "one\ntwo", read(t, newLog(t, "%0 stdout F one\n%1 stdout F two"), ""), "the last line is being written")
	require.Equal(t, "two", read(t, newLog(t, "%0 stdout F one\n%1 stdout F two"), "tailLines=1"))
	require.Equal(t, "one\n", read(t, newLog(t, "%0 stdout F one\n2026-11-0"), ""))
	o, _ := logs.Parse(nil)
	require.ErrorContains(t, logs.Read(t.Context(), newLog(t, "what is this\n%0 stdout F one\n"), o, logs.Source{}, &bytes.Buffer{}), `"what is this\n" is no line of a log`)
}

func TestParse(t *testing.T) {
	for query, want := range map[string]string{
		"tailLines=-1":     "tailLines: Invalid value: -1: must be greater than or equal to 0",
		"limitBytes=0":     "limitBytes: Invalid value: 0: must be greater than 0",
		"sinceSeconds=0":   "sinceSeconds: Invalid value: 0: must be greater than 0",
		"sinceSeconds=x":   `sinceSeconds: Invalid value: "x": must be an integer`,
		"sinceTime=monday": `sinceTime: Invalid value: "monday": must be a time of RFC 3339`,
		"sinceSeconds=1&sinceTime=2026-11-01T10:00:00Z": "at most one of `sinceTime` or `sinceSeconds` may be specified",
	} {
		q, err := url.ParseQuery(query)
		require.NoError(t, err)
		_, problems := logs.Parse(q)
		require.Len(t, problems, 1, query)
		require.ErrorContains(t, problems.ToAggregate(), want)
	}
	query := "follow=true&limitBytes=3&previous=true&sinceTime=2026-11-01T10%3A00%3A00Z&tailLines=2&timestamps=true"
	q, err := url.ParseQuery(query + "&container=c&unknown=x")
	require.NoError(t, err)
	o, problems := logs.Parse(q)
	require.Empty(t, problems)
	require.Equal(t, "c", o.Container)
	require.Equal(t, query, logs.Query(o).Encode())
}

// lines tells what is written to it.
type lines chan string

func (l lines) Write(data []byte) (int, error) {
	l <- string(data)
	return len(data), nil
}

func TestFollow(t *testing.T) {
	path := newLog(t, "%0 stdout F one\n")
	var running atomic.Bool
	running.Store(true)
	o, _ := logs.Parse(url.Values{"follow": {"true"}})
	got := make(lines)
	var following sync.WaitGroup
	following.Go(func() {
		require.NoError(t, logs.Read(t.Context(), path, o, logs.Source{Running: running.Load}, got))
		close(got)
	})
	require.Equal(t, "one\n", <-got)
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	write := func(text string) {
		_, err := file.WriteString(text)
		require.NoError(t, err)
	}
	write(second(1) + " stdout F tw")
	write("o\n" + second(2) + " stdout P thr")
	write("\n")
	require.Equal(t, "two\n", <-got)
	require.Equal(t, "thr", <-got)
	write(second(3) + " stdout F ee\n")
	running.Store(false)
	require.Equal(t, "ee\n", <-got)
	_, more := <-got
	require.False(t, more)
	following.Wait()
}

// Who follows a log, and goes, leaves nothing behind, whether there is a log or not.
func TestFollowerGoes(t *testing.T) {
	for _, path := range []string{newLog(t, "%0 stdout F one\n"), filepath.Join(t.TempDir(), "none")} {
		ctx, cancel := context.WithCancel(t.Context())
		o, _ := logs.Parse(url.Values{"follow": {"true"}})
		asked := make(chan struct{})
		running := func() bool {
			select {
			case asked <- struct{}{}:
			case <-ctx.Done():
			}
			return true
		}
		var following sync.WaitGroup
		following.Go(func() {
			require.NoError(t, logs.Read(ctx, path, o, logs.Source{Running: running}, &bytes.Buffer{}))
		})
		<-asked
		<-asked // it has come to the end
		cancel()
		following.Wait()
	}
}

// The end of a log of 64 MiB, nearly all of which is a hole, has to be found in blocks from the end.
func TestTailReadsTheEndOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "0.log")
	file, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, file.Truncate(64<<20))
	end := "\n"
	for n := range 5000 {
		end += fmt.Sprintf("%s stdout F line %d of many, which together are more than a block\n", second(n%60), n)
	}
	_, err = file.WriteAt([]byte(end), 64<<20)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	got := read(t, path, "tailLines=4000")
	require.Equal(t, 4000, strings.Count(got, "\n"))
	require.True(t, strings.HasPrefix(got, "line 1000 of"))
	allocated := testing.AllocsPerRun(1, func() { require.Contains(t, read(t, path, "tailLines=1"), "line 4999 of") })
	require.Less(t, allocated, 200.0)
}

func TestLongLine(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	path := newLog(t, "%0 stdout F "+long+"\n%1 stdout P "+long+"\n%2 stdout F end\n")
	require.Equal(t, long+"\n"+long+"end\n", read(t, path, ""))
	require.Equal(t, second(0)[:19]+".500000000Z "+long+"\n"+second(1)[:19]+".500000000Z "+long+"end\n", read(t, path, "timestamps=1"))
	o, _ := logs.Parse(nil)
	var largest int
	require.NoError(t, logs.Read(t.Context(), path, o, logs.Source{}, writerFunc(func(data []byte) (int, error) {
		largest = max(largest, len(data))
		return len(data), nil
	})))
	require.LessOrEqual(t, largest, 64<<10)
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(data []byte) (int, error) { return f(data) }
