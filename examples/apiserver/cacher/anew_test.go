package cacher_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/cacher"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/etcd"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/storage"
)

// gate lets watches of etcd through, or holds them back.
type gate struct {
	clientv3.Watcher
	mu     sync.Mutex
	open   chan struct{}      // closed while watches may begin
	cancel context.CancelFunc // ends those that run
	ctx    context.Context
}

func newGate(w clientv3.Watcher) *gate {
	g := &gate{Watcher: w, open: make(chan struct{})}
	close(g.open)
	g.ctx, g.cancel = context.WithCancel(context.Background())
	return g
}

// shut ends all watches and has new ones wait for what it returns to be called.
func (g *gate) shut() (open func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	opened := make(chan struct{})
	g.open = opened
	g.cancel()
	g.ctx, g.cancel = context.WithCancel(context.Background())
	return func() { close(opened) }
}

func (g *gate) Watch(ctx context.Context, key string, o ...clientv3.OpOption) clientv3.WatchChan {
	g.mu.Lock()
	open, until := g.open, g.ctx
	g.mu.Unlock()
	select {
	case <-open:
	case <-ctx.Done():
	}
	ctx, cancel := context.WithCancel(ctx)
	context.AfterFunc(until, cancel)
	return g.Watcher.Watch(ctx, key, o...)
}

// gated returns a store whose watches pass through a gate.
func gated(t *testing.T) (*storage.Store, *gate) {
	t.Helper()
	server, err := etcd.Start(t.Context(), etcd.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	client := *server.Client()
	g := newGate(client.Watcher)
	client.Watcher = g
	t.Cleanup(g.cancel)
	store, err := storage.New(&client, storage.Options{})
	require.NoError(t, err)
	return store, g
}

// The history that the cache has not seen is compacted while it cannot watch.
func TestReadAnewLeavesNoHole(t *testing.T) {
	s, g := gated(t)
	c, _ := run(t, s, cacher.Options{})
	kept := create(t, s, "/p/kept", "1")
	create(t, s, "/p/gone", "1")
	require.NoError(t, c.Fresh(t.Context()))
	before, start := c.Now()
	open := g.shut()
	_, err := s.Delete(t.Context(), "/p/gone", nil)
	require.NoError(t, err)
	last := put(t, s, "/p/kept", "2")
	require.NoError(t, s.Compact(t.Context(), last))
	open()
	require.NoError(t, c.Fresh(t.Context()))
	_, _, err = take(t.Context(), before, 1)
	require.ErrorIs(t, err, cacher.ErrAnew)
	for _, revision := range []int64{kept, start} {
		_, err = c.Watch(revision)
		require.Error(t, err)
	}
	page, w, err := c.ListAndWatch(cacher.ListOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"kept"}, keys(page.Entries))
	require.Equal(t, last, page.Entries[0].Revision)
	next := put(t, s, "/p/kept", "3")
	events, _, err := take(t.Context(), w, 1)
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf("kept 2@%d>3@%d", last, next), short(events[0]))
}

// Watches of etcd end again and again while there are writes: nobody notices.
func TestInterruptedWatchIsResumed(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	s, g := gated(t)
	c, _ := run(t, s, cacher.Options{})
	last := create(t, s, "/p/a", "0")
	require.NoError(t, c.Fresh(t.Context()))
	w, _ := c.Now()
	first := last + 1
	for i := range 100 {
		if random.IntN(10) == 0 {
			g.shut()()
		}
		last = put(t, s, "/p/a", "v"+strconv.Itoa(i))
	}
	for next := first; next <= last; {
		events, _, err := take(t.Context(), w, 10)
		require.NoError(t, err)
		for _, e := range events {
			require.Equal(t, next, e.Revision)
			next++
		}
	}
}

func TestMemoIsMadeOnce(t *testing.T) {
	e := &cacher.Entry{Key: "a"}
	bad := errors.New("bad")
	for _, name := range []string{"x", "y"} {
		made := 0
		for range 3 {
			what, err := e.Memo(name, func() (any, error) { made++; return name, bad })
			require.Equal(t, name, what)
			require.ErrorIs(t, err, bad)
		}
		require.Equal(t, 1, made)
	}
	require.Empty(t, e.GetNamespace())
	require.Equal(t, "a", e.GetName())
}

func ExampleCache() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	server, err := etcd.Start(ctx, etcd.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	store, err := storage.New(server.Client(), storage.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	c := cacher.New(store, "/pods/", cacher.Options{Stamp: stamp})
	var running sync.WaitGroup
	running.Go(func() { c.Run(ctx) })
	defer running.Wait()
	defer cancel()
	_, err = store.Create(ctx, "/pods/default/a", []byte("one"))
	fmt.Println(errors.Join(err, c.Fresh(ctx)))
	page, err := c.List(cacher.ListOptions{Prefix: "default/"})
	fmt.Println(len(page.Entries), page.Entries[0].GetName(), err)
	// Output:
	// <nil>
	// 1 a <nil>
}
