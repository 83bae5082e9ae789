package deltafifo_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/deltafifo"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pod is the object of these tests.
type pod struct {
	listwatch.Meta
	Body string
}

func newPod(name, uid, version string) *pod {
	return &pod{Meta: listwatch.Meta{Name: name, UID: uid, ResourceVersion: version}}
}

func key(name string) listwatch.Key { return listwatch.Key{Name: name} }

func headOf(p *pod) listwatch.Head {
	return listwatch.Head{Key: listwatch.KeyOf(p), UID: p.UID, ResourceVersion: p.ResourceVersion}
}

func event(t listwatch.EventType, p *pod, version string) listwatch.Event[*pod] {
	return listwatch.Event[*pod]{Type: t, Object: p, ResourceVersion: version}
}

func bookmark(version string) listwatch.Event[*pod] {
	return listwatch.Event[*pod]{Type: listwatch.Bookmark, ResourceVersion: version}
}

// show writes a delta as "Type name/uid@version", with a + for each flag.
func show(d deltafifo.Delta[*pod]) string {
	s := fmt.Sprintf("%v %s/%s@%s", d.Type, d.Head.Key, d.Head.UID, d.Head.ResourceVersion)
	if d.Type == deltafifo.Deleted {
		s += " was " + d.Object.ResourceVersion
	}
	if d.Unknown {
		s += " +unknown"
	}
	if d.Initial {
		s += " +initial"
	}
	if d.Force {
		s += " +force"
	}
	return s
}

func showAll(b deltafifo.Batch[*pod]) []string {
	lines := []string{}
	for _, item := range b.Items {
		for _, d := range item.Deltas {
			lines = append(lines, show(d))
		}
	}
	return lines
}

// rig is a queue with the store behind it; store may be nil.
type rig struct {
	t     *testing.T
	q     *deltafifo.DeltaFIFO[*pod]
	store *memory
}

func newRig(t *testing.T, o deltafifo.Options) *rig {
	store := newMemory()
	return &rig{t: t, q: deltafifo.New[*pod](store, o), store: store}
}

func newBareRig(t *testing.T) *rig {
	return &rig{t: t, q: deltafifo.New[*pod](nil, deltafifo.Options{})}
}

// goOn applies events of a watch; when a list has contradicted it, those of another one.
func goOn(q *deltafifo.DeltaFIFO[*pod], events ...listwatch.Event[*pod]) error {
	err := q.Apply(context.Background(), events...)
	if errors.Is(err, listwatch.ErrDrift) {
		err = q.Apply(context.Background(), events...)
	}
	return err
}

func (r *rig) apply(events ...listwatch.Event[*pod]) {
	r.t.Helper()
	require.NoError(r.t, goOn(r.q, events...))
}

// pop applies the next batch to the store and returns it as text. There must be one.
func (r *rig) pop(keys int) (lines []string, batch deltafifo.Batch[*pod]) {
	r.t.Helper()
	require.NoError(r.t, r.q.Pop(r.t.Context(), keys, func(b deltafifo.Batch[*pod]) error {
		lines, batch = showAll(b), b
		batch.Items = nil
		r.write(b)
		return nil
	}))
	return lines, batch
}

func (r *rig) write(b deltafifo.Batch[*pod]) {
	if r.store != nil {
		for _, item := range b.Items {
			r.store.apply(item.Deltas)
		}
	}
}

// fill brings the store to the given state by way of a first snapshot.
func (r *rig) fill(version string, pods ...*pod) {
	r.t.Helper()
	require.NoError(r.t, r.q.Replace(r.t.Context(), version, pods...))
	r.pop(0)
}

// quiet asserts that the queue has nothing to hand out.
func (r *rig) quiet() {
	r.t.Helper()
	require.Zero(r.t, r.q.Len(), "queued: %v", r.q.List())
	ctx, cancel := context.WithCancel(r.t.Context())
	cancel()
	require.Error(r.t, r.q.Pop(ctx, 0, func(deltafifo.Batch[*pod]) error { return nil }))
}

type snapshot = listwatch.Snapshot[*pod]

func put(t *testing.T, s snapshot, pods ...*pod) {
	t.Helper()
	require.NoError(t, s.Put(t.Context(), pods...))
}
