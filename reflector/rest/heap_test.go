package rest_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/internal/measure"
	"github.com/seed3bce33ad/listwatch/reflector/rest"
)

// answer is a client's transport that answers every request with a body.
type answer func() io.Reader

func (a answer) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(a())}, nil
}

func answered[T listwatch.Object](t testing.TB, o rest.Options, a answer) *rest.Source[T] {
	o.Client = &http.Client{Transport: a}
	s, err := rest.New[T]("http://server/api/v1/pods", o)
	require.NoError(t, err)
	return s
}

// bigPod has a body of some size, as real ones have.
type bigPod struct {
	listwatch.Meta `json:"metadata"`
	Spec           struct {
		Containers []struct {
			Name  string            `json:"name"`
			Image string            `json:"image"`
			Env   map[string]string `json:"env"`
			Args  []string          `json:"args"`
		} `json:"containers"`
		NodeName string `json:"nodeName"`
	} `json:"spec"`
}

const podTail = `"spec":{"containers":[` +
	`{"name":"main","image":"registry.example.com/team/application:v1.2.3","env":{"A":"a value","B":"another value"},"args":["--one","--two=2"]},` +
	`{"name":"side","image":"registry.example.com/team/sidecar:v4.5.6","env":{"C":"a third value"},"args":["--three"],"unknown":"FILL"}],` +
	`"nodeName":"node-17"},"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`

// longList is a list of about size bytes that is made while it is read. A part of each object
// is of no use to bigPod.
type longList struct {
	pods, made int
	bytes.Buffer
	tail string
}

func newLongList(size int) *longList {
	tail := strings.Replace(podTail, "FILL", strings.Repeat("f", 600), 1)
	l := &longList{pods: size / (len(tail) + 100), tail: tail}
	l.WriteString(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[`)
	return l
}

func (l *longList) Read(p []byte) (int, error) {
	for l.Len() < len(p) && l.made < l.pods {
		if l.made > 0 {
			l.WriteByte(',')
		}
		fmt.Fprintf(l, `{"metadata":{"name":"pod-%d","namespace":"ns-%d","uid":"uid-%d","resourceVersion":"%d"},%s`, l.made, l.made%10, l.made, l.made+1, l.tail)
		if l.made++; l.made == l.pods {
			l.WriteString("]}\n")
		}
	}
	return l.Buffer.Read(p)
}

// A long list needs no more memory than its objects and a little: neither is the body held
// nor are the objects held twice. 20 MB, or 400 MB with -bounds.full.
func TestListHeap(t *testing.T) {
	size := 20 << 20
	if *measure.Full {
		size = 400 << 20
	}
	const samples = 8
	held := func() float64 { return float64(measure.Held()) }
	long := newLongList(size)
	pods := make([]*bigPod, 0, long.pods)
	source := answered[*bigPod](t, rest.Options{}, func() io.Reader { return long })
	before := held()
	var alive, counts []float64
	meta, err := source.List(t.Context(), listwatch.ListOptions{}, func(batch ...*bigPod) error {
		if len(pods)*samples >= len(alive)*long.pods {
			alive, counts = append(alive, held()-before), append(counts, float64(len(pods)+len(batch)))
		}
		pods = append(pods, batch...)
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, "9", meta.ResourceVersion)
	retained := held() - before
	require.Len(t, pods, long.pods)
	require.Equal(t, fmt.Sprint("pod-", long.pods-1), pods[long.pods-1].Name)
	require.Len(t, alive, samples)
	worst := 0.0
	for i := range alive {
		// A megabyte for buffers.
		worst = max(worst, (alive[i]-1<<20)/(retained*counts[i]/float64(len(pods))))
	}
	t.Logf("%d MB of JSON, %d objects: retained %.0f bytes each, at most %.2f times that in between", size>>20, len(pods), retained/float64(len(pods)), worst)
	require.Less(t, worst, 1.2)
	require.Greater(t, worst, 0.8)
	runtime.KeepAlive(pods)
}

// Scenario 43. Passing over an event of 64 MiB takes no more memory than one at the limit.
func TestTooLargeEventHeap(t *testing.T) {
	head := `{"type":"ADDED","object":{"kind":"Pod","metadata":{"name":"big","resourceVersion":"5"},"x":"`
	r := &record[*Pod]{}
	source := answered[*Pod](t, rest.Options{MaxObjectBytes: 1 << 20}, func() io.Reader {
		return io.MultiReader(strings.NewReader(head), io.LimitReader(filler{}, 64<<20), strings.NewReader(`"}}`+event("ADDED", "a", "6")))
	})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_ = source.Watch(t.Context(), listwatch.WatchOptions{ResourceVersion: "1", Refused: r.refuse}, r.watch)
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8<<20))
	require.ErrorIs(t, r.errs[0], listwatch.ErrTooLarge)
	require.Equal(t, "big", r.heads[0].Key.Name)
	require.Equal(t, "Added ns/a@6", r.events[0])
}

type filler struct{}

func (filler) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func BenchmarkList(b *testing.B) {
	for name, known := range map[string]func(listwatch.Head) bool{"decoded": nil, "known": func(listwatch.Head) bool { return true }} {
		b.Run(name, func(b *testing.B) {
			long := newLongList(8 << 20)
			text, err := io.ReadAll(long)
			require.NoError(b, err)
			source := answered[*bigPod](b, rest.Options{}, func() io.Reader { return bytes.NewReader(text) })
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if _, err := source.List(b.Context(), listwatch.ListOptions{Known: known}, func(...*bigPod) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N*long.pods)/b.Elapsed().Seconds(), "objects/s")
		})
	}
}

func BenchmarkWatch(b *testing.B) {
	const count = 2000
	text := strings.Repeat(`{"type":"MODIFIED","object":{"kind":"Pod","metadata":{"name":"a","namespace":"ns","uid":"u","resourceVersion":"10"},`+podTail+"}\n", count)
	source := answered[*bigPod](b, rest.Options{}, func() io.Reader { return strings.NewReader(text) })
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if err := source.Watch(b.Context(), listwatch.WatchOptions{ResourceVersion: "9"}, func(...listwatch.Event[*bigPod]) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N*count)/b.Elapsed().Seconds(), "events/s")
}
