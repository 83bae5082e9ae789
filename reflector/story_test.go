package reflector_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/internal/timing"
	"github.com/seed3bce33ad/listwatch/reflector"
)

var update = flag.Bool("update", false, "write the logs of the stories anew")

// TestStories runs testdata/*.txt: what the source answers, call by call, and the log of
// requests, calls of the sink and reports that must come of it, each with its virtual time.
// The format is told in testdata/README.md.
func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			script, want, found := strings.Cut(string(data), "-- log --\n")
			require.True(t, found)
			synctest.Test(t, func(t *testing.T) {
				got := play(t, script)
				if *update {
					require.NoError(t, os.WriteFile(file, []byte(script+"-- log --\n"+got), 0o644))
				} else if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("the log differs (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// play runs a script and returns its log.
func play(t *testing.T, script string) string {
	j := newJournal()
	source := &scripted{journal: j}
	s := newSink(j)
	o := reflector.Options{Name: "rows", Rand: func() float64 { return 0 }, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
	panics := 0
	o.OnError = func(err error) {
		j.add("error %s", err)
		if panics > 0 {
			panics--
			panic("in OnError")
		}
	}
	length := time.Minute
	for line := range strings.Lines(script) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "", "#":
		case "run":
			length = duration(t, rest)
		case "option":
			option(t, &o, rest)
		case "sink":
			method, fault, _ := strings.Cut(rest, " ")
			s.faults[method] = append(s.faults[method], fault)
		case "onerror":
			panics++
		case "list":
			source.lists = append(source.lists, strings.Split(rest, ";"))
		case "watch":
			source.watches = append(source.watches, strings.Split(rest, ";"))
		default:
			t.Fatalf("unknown word %q", word)
		}
	}
	r := reflector.New[*row](source, s, o)
	ctx, cancel := context.WithTimeout(context.Background(), length)
	defer cancel()
	require.NoError(t, r.Run(ctx))
	j.add("end %s", summary(r.Health()))
	j.add("cache %s", s.cache())
	source.calls.Wait() // for those that ignored their context
	return j.text()
}

func summary(h reflector.Health) string {
	text := fmt.Sprintf("%s position=%s lists=%d watches=%d failures=%d", h.State, h.Position, h.Lists, h.Watches, h.Failures)
	for _, n := range []struct {
		name  string
		count uint64
	}{{"probes", h.Probes}, {"compares", h.Compares}, {"gaps", h.Gaps}, {"restores", h.Restores}, {"abandoned", h.Abandoned}, {"refused", uint64(len(h.Refused))}} {
		if n.count > 0 {
			text += fmt.Sprintf(" %s=%d", n.name, n.count)
		}
	}
	return text
}

func duration(t *testing.T, s string) time.Duration {
	d, err := time.ParseDuration(s)
	require.NoError(t, err)
	return d
}

func option(t *testing.T, o *reflector.Options, text string) {
	name, value, _ := strings.Cut(text, " ")
	switch name {
	case "first":
		o.FirstList = map[string]reflector.FirstList{
			"stream": reflector.FirstStream, "pages": reflector.FirstPages, "any": reflector.FirstAny,
		}[value]
	case "page":
		n, err := strconv.ParseInt(value, 10, 64)
		require.NoError(t, err)
		o.PageSize = n
	default:
		field, ok := map[string]*time.Duration{
			"timeout": &o.WatchTimeout, "slack": &o.WatchSlack, "idle": &o.IdleTimeout, "relist": &o.Relist,
			"servererrors": &o.ServerErrorsBeforeList, "grace": &o.Grace,
		}[name]
		require.True(t, ok, name)
		*field = duration(t, value)
	}
}

// scripted is a source that answers each call by the next line of its script. When there are
// none left it delivers nothing until it is cancelled.
type scripted struct {
	*journal
	calls          sync.WaitGroup
	mu             sync.Mutex // guards all below
	lists, watches [][]string
}

func (s *scripted) next(queue *[][]string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(*queue) == 0 {
		return []string{"block"}
	}
	actions := (*queue)[0]
	*queue = (*queue)[1:]
	return actions
}

func (s *scripted) List(ctx context.Context, o listwatch.ListOptions, each func(...*row) error) (listwatch.ListMeta, error) {
	s.calls.Add(1)
	defer s.calls.Done()
	match := [...]string{"latest", "notolder", "exact"}[o.Match]
	s.add("list %s version=%s limit=%d continue=%s", match, o.ResourceVersion, o.Limit, o.Continue)
	meta := listwatch.ListMeta{}
	for _, action := range s.next(&s.lists) {
		f := strings.Fields(action)
		var err error
		switch f[0] {
		case "put":
			var rows []*row
			for _, text := range f[1:] {
				r, _ := parseRow(text)
				rows = append(rows, r)
			}
			err = each(rows...)
		case "known":
			r, _ := parseRow(f[1])
			o.Known(listwatch.Head{Key: listwatch.KeyOf(r), ResourceVersion: r.ResourceVersion})
		case "refuse":
			err = refuse(o.Refused, f)
		case "meta":
			meta.ResourceVersion = f[1]
			if len(f) > 2 && f[2] != "-" {
				meta.Continue = f[2]
			}
			if len(f) > 3 {
				meta.Remaining, _ = strconv.ParseInt(f[3], 10, 64)
			}
		default:
			err = common(ctx, f)
		}
		if err != nil {
			return meta, err
		}
	}
	return meta, nil
}

func (s *scripted) Watch(ctx context.Context, o listwatch.WatchOptions, each func(...listwatch.Event[*row]) error) error {
	s.calls.Add(1)
	defer s.calls.Done()
	if o.InitialEvents {
		s.add("stream version=%s timeout=%s", o.ResourceVersion, o.Timeout)
	} else {
		s.add("watch version=%s timeout=%s", o.ResourceVersion, o.Timeout)
	}
	for _, action := range s.next(&s.watches) {
		f := strings.Fields(action)
		var err error
		switch f[0] {
		case "end":
			return nil
		case "known":
			r, _ := parseRow(f[1])
			o.Known(listwatch.Head{Key: listwatch.KeyOf(r), ResourceVersion: r.ResourceVersion})
		case "refuse":
			err = refuse(o.Refused, f)
		case "added", "modified", "deleted", "bookmark", "synced", "patched":
			var batch []listwatch.Event[*row]
			for _, text := range strings.Split(action, "+") {
				batch = append(batch, parseEvent(strings.Fields(text)))
			}
			err = each(batch...)
		default:
			err = common(ctx, f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func refuse(refused func(listwatch.Head, error) error, f []string) error {
	r, _ := parseRow(f[1])
	return refused(listwatch.Head{Key: listwatch.KeyOf(r), ResourceVersion: r.ResourceVersion}, failure(f[2:]))
}

// common are the actions of both calls.
func common(ctx context.Context, f []string) error {
	switch f[0] {
	case "wait":
		d, err := time.ParseDuration(f[1])
		if err != nil {
			return err
		}
		return timing.Sleep(ctx, clock.New(), d)
	case "hang":
		d, err := time.ParseDuration(f[1])
		if err != nil {
			return err
		}
		return timing.Sleep(context.Background(), clock.New(), d)
	case "block":
		<-ctx.Done()
		return ctx.Err()
	case "panic":
		panic("in the source")
	case "error":
		return failure(f[1:])
	}
	return fmt.Errorf("unknown action %q", f)
}

// parseRow reads "name@version/position"; without a position it is the version.
func parseRow(text string) (*row, string) {
	text, position, given := strings.Cut(text, "/")
	name, version, _ := strings.Cut(text, "@")
	if !given {
		position = version
	}
	return newRow(name, version), position
}

func parseEvent(f []string) listwatch.Event[*row] {
	types := map[string]listwatch.EventType{
		"added": listwatch.Added, "modified": listwatch.Modified, "deleted": listwatch.Deleted,
		"bookmark": listwatch.Bookmark, "synced": listwatch.Synced, "patched": 77,
	}
	e := listwatch.Event[*row]{Type: types[f[0]]}
	switch {
	case len(f) == 1:
	case e.Type == listwatch.Bookmark || e.Type == listwatch.Synced:
		e.ResourceVersion = f[1]
	default:
		e.Object, e.ResourceVersion = parseRow(f[1])
	}
	return e
}

// failure reads "410", "429 2s", "500 event", "expired-without-kind" or the name of an error.
func failure(f []string) error {
	kinds := map[int]error{
		400: listwatch.ErrUnsupported, 401: listwatch.ErrUnauthorized, 403: listwatch.ErrForbidden, 404: listwatch.ErrNotFound,
		410: listwatch.ErrExpired, 422: listwatch.ErrUnsupported, 429: listwatch.ErrTooManyRequests,
		500: listwatch.ErrUnavailable, 503: listwatch.ErrUnavailable,
	}
	code, err := strconv.Atoi(f[0])
	if err != nil {
		return map[string]error{
			"toonew":      &listwatch.StatusError{Code: 504, RetryAfter: time.Second, Kind: listwatch.ErrTooLargeVersion},
			"toonewevent": &listwatch.StatusError{Code: 504, Event: true, Kind: listwatch.ErrTooLargeVersion},
			"bare410":     &listwatch.StatusError{Code: 410, Event: true},
			"reset":       fmt.Errorf("%w: %w", listwatch.ErrUnavailable, syscall.ECONNRESET),
			"refused":     fmt.Errorf("%w: %w", listwatch.ErrUnavailable, syscall.ECONNREFUSED),
			"eof":         fmt.Errorf("%w: %w", listwatch.ErrUnavailable, io.ErrUnexpectedEOF),
			"timeout":     fmt.Errorf("%w: %w", listwatch.ErrUnavailable, os.ErrDeadlineExceeded),
			"decode":      fmt.Errorf("%w: bad byte", listwatch.ErrDecode),
			"toolarge":    fmt.Errorf("%w: 3145728 bytes, the limit is 1048576", listwatch.ErrTooLarge),
			"protocol":    listwatch.ErrProtocol,
			"unsupported": listwatch.ErrUnsupported,
			"boom":        errors.New("boom"),
		}[f[0]]
	}
	status := &listwatch.StatusError{Code: code, Kind: kinds[code]}
	for _, word := range f[1:] {
		if word == "event" {
			status.Event = true
		} else {
			status.RetryAfter, _ = time.ParseDuration(word)
		}
	}
	return status
}
