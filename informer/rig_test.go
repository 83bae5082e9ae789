package informer_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/reflector"
)

type (
	object   = fakes.Object
	change   = informer.Change[*object]
	pods     = informer.Informer[*object]
	server   = fakes.Source[*object]
	function = informer.Handler[*object]
)

// rig is an informer of a server in memory, in a bubble of virtual time.
type rig struct {
	*pods
	t      *testing.T
	server *server
	run    chan error
	cancel context.CancelFunc
}

func newServer(o fakes.Options[*object]) *server { return fakes.New(fakes.StampObject, o) }

func named(name, value string) *object {
	return &object{Meta: listwatch.Meta{Namespace: "ns", Name: name}, Value: value}
}

func key(name string) listwatch.Key { return listwatch.Key{Namespace: "ns", Name: name} }

func quiet(o informer.Options) informer.Options {
	o.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	if o.Name == "" {
		o.Name = "pods"
	}
	if o.Index.Compact == nil {
		o.Index.Compact = storage
	}
	return o
}

// newRig makes an informer that does not run yet.
func newRig(t *testing.T, s *server, o informer.Options) *rig {
	return &rig{pods: informer.New[*object](s, quiet(o)), t: t, server: s, run: make(chan error, 1), cancel: func() {}}
}

// start runs it until the test ends.
func (r *rig) start() *rig {
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	go func() { r.run <- r.Run(ctx) }()
	r.t.Cleanup(func() { r.stop() })
	return r
}

func (r *rig) stop() {
	r.cancel()
	if r.run != nil {
		require.NoError(r.t, <-r.run)
		r.run = nil
	}
}

// sync waits until everything is at rest, and checks that the store equals the server.
func (r *rig) sync() *rig {
	r.t.Helper()
	require.NoError(r.t, r.WaitForSync(r.t.Context()))
	synctest.Wait()
	r.equal()
	return r
}

func (r *rig) equal() {
	r.t.Helper()
	require.Empty(r.t, cmp.Diff(byKey(r.server.Objects()), byKey(r.Indexer().List())))
}

func byKey(objects []*object) map[listwatch.Key]*object {
	out := make(map[listwatch.Key]*object, len(objects))
	for _, o := range objects {
		out[listwatch.KeyOf(o)] = o
	}
	return out
}

func (r *rig) put(name, value string) *object {
	r.t.Helper()
	o, err := r.server.Put(named(name, value))
	require.NoError(r.t, err)
	return o
}

func (r *rig) drop(name string) {
	r.t.Helper()
	_, err := r.server.Delete(key(name), fakes.Preconditions{})
	require.NoError(r.t, err)
}

func (r *rig) handle(h function, o informer.HandlerOptions) *informer.Registration {
	r.t.Helper()
	reg, err := r.AddHandler(r.t.Context(), h, o)
	require.NoError(r.t, err)
	return reg
}

// diary writes down what a handler was told.
type diary struct {
	mu    sync.Mutex
	lines []string
	all   []change
}

func (d *diary) handle(_ context.Context, c change) {
	d.mu.Lock()
	defer d.mu.Unlock()
	line := fmt.Sprintf("%s %s", c.Type, c.Key.Name)
	switch c.Type {
	case informer.Update:
		line += fmt.Sprintf(" %s>%s", c.Old.Value, c.Object.Value)
	case informer.Add:
		line += " " + c.Object.Value
	case informer.Delete:
		line += " " + c.Old.Value
	}
	for _, flag := range []struct {
		set  bool
		name string
	}{{c.Initial, "initial"}, {c.Unknown, "unknown"}, {c.Resync, "resync"}} {
		if flag.set {
			line += " " + flag.name
		}
	}
	d.lines = append(d.lines, line)
	d.all = append(d.all, c)
}

// read returns the lines since the last read.
func (d *diary) read() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	lines := d.lines
	d.lines = nil
	return lines
}

// forget drops all that was written down.
func (d *diary) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines, d.all = nil, nil
}

func sorted(lines []string) []string { return slices.Sorted(slices.Values(lines)) }

// bubble runs a test in virtual time.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, f)
}

// pages are options of a reflector that lists by pages of n objects.
func pages(n int64) reflector.Options { return reflector.Options{PageSize: n} }
