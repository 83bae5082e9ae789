package wire_test

import (
	"context"
	"flag"
	"io"
	"math/rand/v2"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/fakes/wire"
	"github.com/seed3bce33ad/listwatch/reflector/rest"
)

var seed = flag.Uint64("seed", 0, "seed of the random tests; 0: another one each time")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func seedOf(t *testing.T) uint64 {
	n := *seed
	if n == 0 {
		n = rand.Uint64()
	}
	t.Logf("-seed=%d", n)
	return n
}

type object = *fakes.Object

func obj(name, value string) object {
	return &fakes.Object{Meta: listwatch.Meta{Namespace: "ns", Name: name}, Value: value}
}

// rig is a fake server with a client of it, behind a proxy.
type rig struct {
	*fakes.Source[object]
	server *wire.Server[object]
	proxy  *wire.Proxy
	client *http.Client
	host   *wire.Host
}

// newRig makes a rig in memory. Close it, in a bubble before the bubble ends.
func newRig(o fakes.Options[object], w wire.Options[object], http2 bool) *rig {
	o.Finalizers, o.Deleted = fakes.ObjectFinalizers, fakes.ObjectDeleted
	r := &rig{Source: fakes.New(fakes.StampObject, o)}
	r.server = wire.NewServer(r.Source, w)
	back, front := wire.Memory(), wire.Memory()
	r.host = wire.Serve(back, r.server)
	r.proxy = wire.NewProxy(front, back, wire.ProxyOptions{})
	r.client = front.Client(http2)
	return r
}

func (r *rig) close() {
	r.client.CloseIdleConnections()
	r.proxy.Close()
	r.host.Close()
}

// source returns a client of the library.
func (r *rig) source(t *testing.T, o rest.Options) *rest.Source[object] {
	o.Client = r.client
	s, err := rest.New[object]("http://fake/apis/example.com/v1/objects", o)
	require.NoError(t, err)
	return s
}

// get asks for a path and returns the answer.
func (r *rig) get(t *testing.T, path string, header ...string) (status int, h http.Header, body string, err error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://fake"+path, nil)
	require.NoError(t, err)
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := r.client.Do(request)
	if err != nil {
		return 0, nil, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, response.Header, string(text), err
}

func (r *rig) put(t *testing.T, objects ...object) {
	t.Helper()
	for _, o := range objects {
		_, err := r.Put(o)
		require.NoError(t, err)
	}
}

func inject(t *testing.T, f fakes.Faulty, faults ...string) {
	t.Helper()
	for _, text := range faults {
		fault, err := fakes.ParseFault(text)
		require.NoError(t, err)
		require.NoError(t, f.Inject(fault))
	}
}

// list lists once and returns the names.
func list(ctx context.Context, s listwatch.ListerWatcher[object], o listwatch.ListOptions) ([]string, listwatch.ListMeta, error) {
	var names []string
	meta, err := s.List(ctx, o, func(objects ...object) error {
		for _, o := range objects {
			names = append(names, o.Name)
		}
		return nil
	})
	return names, meta, err
}
