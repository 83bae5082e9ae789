package controltest

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/require"
	clientrest "k8s.io/client-go/rest"

	"github.com/seed3bce33ad/listwatch/examples/apiserver"
	"github.com/seed3bce33ad/listwatch/examples/controllers/control"
	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/informer"
)

// World is an API server with controllers. Make one with [New]; it ends with the test.
type World struct {
	// T is the test.
	T testing.TB
	// Server is the API server.
	Server *apiserver.Server
	// Cluster is the test's own connection, for reading and writing.
	Cluster *kube.Cluster
	// Clock is the controllers' time. It starts at the present and stands still until it is moved.
	Clock *clock.Mock
	// Late holds back what the controllers read by the watches and lists of pods.
	Late *Late
	// LateSlices does so with endpoint slices.
	LateSlices *Late

	ctx     context.Context
	running sync.WaitGroup
	factory informer.Factory
	// theirs is the controllers' connection, read what they read by it.
	theirs *kube.Cluster
	read   *informer.Factory
}

// New starts a server and the controllers, which share one factory of informers.
func New(t testing.TB, makes ...control.Make) *World {
	t.Helper()
	server, err := apiserver.Start(t.Context(), apiserver.Options{})
	require.NoError(t, err)
	w := &World{T: t, Server: server, Clock: clock.NewMock(),
		Late: newLate("/api/v1/pods"), LateSlices: newLate("/apis/discovery.k8s.io/v1/endpointslices")}
	w.Clock.Set(time.Now())
	// Its own connections are closed after each request, so none is cut in the middle of a test's write.
	w.Cluster, err = kube.Connect(&clientrest.Config{Host: server.URL(), Transport: &http.Transport{DisableKeepAlives: true}})
	require.NoError(t, err)
	theirs, err := kube.Connect(&clientrest.Config{Host: server.URL(), WrapTransport: func(next http.RoundTripper) http.RoundTripper {
		return w.LateSlices.wrap(w.Late.wrap(next))
	}})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	w.ctx = ctx
	t.Cleanup(func() {
		cancel()
		w.Late.Release()
		w.LateSlices.Release()
		w.running.Wait()
		theirs.Close()
		w.Cluster.Close()
		require.NoError(t, server.Close())
	})
	w.theirs, w.read = theirs, new(informer.Factory)
	env := control.Env{Cluster: theirs, Factory: w.read, Clock: w.Clock, Logger: slog.New(slog.DiscardHandler)}
	env.Factory.Options.Logger = env.Logger
	w.factory.Options.Logger = env.Logger
	for _, m := range makes {
		c, err := m(env)
		require.NoError(t, err)
		w.run(c.Run)
	}
	w.run(env.Factory.Run)
	w.run(w.factory.Run)
	return w
}

// run runs something until the test ends.
func (w *World) run(f func(context.Context) error) {
	w.running.Go(func() {
		if err := f(w.ctx); err != nil && w.ctx.Err() == nil {
			w.T.Error(err)
		}
	})
}

// Flow lets the controllers' time go on from now on, faster than it does: writes that fail are tried again.
func (w *World) Flow() {
	w.run(func(ctx context.Context) error {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				w.Clock.Add(100 * time.Millisecond)
			case <-ctx.Done():
				return nil
			}
		}
	})
}
