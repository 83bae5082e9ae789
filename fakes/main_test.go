package fakes_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/internal/worker"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type (
	object  = *fakes.Object
	source  = *fakes.Source[object]
	options = fakes.Options[object]
	event   = listwatch.Event[object]
)

func newSource(o options) source {
	if o.Finalizers == nil {
		o.Finalizers = fakes.ObjectFinalizers
	}
	o.Deleted = fakes.ObjectDeleted
	return fakes.New(fakes.StampObject, o)
}

func key(name string) listwatch.Key { return listwatch.Key{Namespace: "ns", Name: name} }

func obj(name, value string) object {
	return &fakes.Object{Meta: listwatch.Meta{Namespace: "ns", Name: name}, Value: value}
}

// with returns a copy of o that is changed.
func with(o object, change func(object)) object {
	o = o.Clone()
	change(o)
	return o
}

func put(t *testing.T, s source, objects ...object) (last object) {
	t.Helper()
	for _, o := range objects {
		var err error
		last, err = s.Put(o)
		require.NoError(t, err)
	}
	return last
}

func remove(t *testing.T, s source, name string) object {
	t.Helper()
	gone, err := s.Delete(key(name), fakes.Preconditions{})
	require.NoError(t, err)
	return gone
}

// list lists once and describes the objects.
func list(t *testing.T, s listwatch.ListerWatcher[object], o listwatch.ListOptions) ([]string, listwatch.ListMeta, error) {
	t.Helper()
	var got []string
	meta, err := s.List(t.Context(), o, func(objects ...object) error {
		for _, o := range objects {
			got = append(got, fmt.Sprintf("%s=%s@%s", o.Name, o.Value, o.ResourceVersion))
		}
		return nil
	})
	return got, meta, err
}

func describe(e event) string {
	text := e.Type.String()
	if e.Type != listwatch.Bookmark && e.Type != listwatch.Synced {
		text += fmt.Sprintf(" %s=%s@%s", e.Object.Name, e.Object.Value, e.Object.ResourceVersion)
	}
	return text + " at " + e.ResourceVersion
}

// watching is a watch that runs in a goroutine of a bubble and has begun; look at what it was
// told after synctest.Wait.
type watching struct {
	cancel context.CancelCauseFunc
	group  worker.Group

	mu     sync.Mutex
	events []event
	ended  bool
	err    error
}

func watch(t *testing.T, s listwatch.ListerWatcher[object], o listwatch.WatchOptions) *watching {
	ctx, cancel := context.WithCancelCause(t.Context())
	w := &watching{cancel: cancel}
	w.group.Go(func() {
		err := s.Watch(ctx, o, func(events ...event) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.events = append(w.events, events...)
			return nil
		})
		w.mu.Lock()
		defer w.mu.Unlock()
		w.ended, w.err = true, err
	})
	t.Cleanup(w.group.Wait) // the bubble's context is done by then
	synctest.Wait()
	return w
}

func from(version string) listwatch.WatchOptions {
	return listwatch.WatchOptions{ResourceVersion: version}
}

// told describes the events so far.
func (w *watching) told() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	got := []string{}
	for _, e := range w.events {
		got = append(got, describe(e))
	}
	return got
}

func (w *watching) end(t *testing.T) error {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	require.True(t, w.ended, "the watch is running")
	return w.err
}

func (w *watching) running(t *testing.T) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	require.False(t, w.ended, "the watch has ended: %v", w.err)
}
