package deltafifo_test

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/deltafifo"
	"github.com/seed3bce33ad/listwatch/internal/worker"
)

func TestPopWaitsForWork(t *testing.T) {
	wakes := map[string]func(r *rig){
		"event":          func(r *rig) { r.apply(event(listwatch.Added, newPod("a", "", "11"), "11")) },
		"bookmark":       func(r *rig) { r.apply(bookmark("11")) },
		"list":           func(r *rig) { _ = r.q.Replace(r.t.Context(), "10", newPod("a", "", "9")) },
		"empty list":     func(r *rig) { _ = r.q.Replace(r.t.Context(), "11") },
		"restored":       func(r *rig) { _ = r.q.Begin(listwatch.Reset).Commit("10") },
		"refused object": func(r *rig) { r.q.Begin(listwatch.Reset).Known(listwatch.Head{Key: key("held")}) },
		"drift":          func(r *rig) { _ = r.q.Begin(listwatch.Compare).Commit("10") },
	}
	for name, wake := range wakes {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, deltafifo.Options{})
				r.fill("10", newPod("held", "", "1"))
				var g worker.Group
				popped := false
				g.Go(func() { r.pop(0); popped = true })
				synctest.Wait()
				require.False(t, popped)
				r.q.Begin(listwatch.Rebuild).Abort()
				synctest.Wait()
				require.False(t, popped, "that a list began and was given up is nothing to tell")
				wake(r)
				g.Wait()
				require.True(t, popped)
			})
		})
	}
}

// What a batch claimed before a list began is claimed again when the list has left nothing.
func TestPopTellsThatTheStoreIsExactAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, deltafifo.Options{})
		r.fill("10")
		s := r.q.Begin(listwatch.Rebuild)
		r.apply(bookmark("11"))
		_, batch := r.pop(0)
		require.False(t, batch.Exact)
		var g worker.Group
		g.Go(func() { _, batch = r.pop(0) })
		synctest.Wait()
		s.Abort()
		g.Wait()
		equal(t, deltafifo.Batch[*pod]{Version: "11", Exact: true, Synced: true}, batch)
	})
}

func TestPopEnds(t *testing.T) {
	pop := func(ctx context.Context, q *deltafifo.DeltaFIFO[*pod]) error {
		return q.Pop(ctx, 0, func(deltafifo.Batch[*pod]) error { return nil })
	}
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, deltafifo.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		var g worker.Group
		var first, second, third error
		g.Go(func() { first = pop(ctx, r.q) })
		synctest.Wait()
		g.Go(func() { second = pop(ctx, r.q) }) // waits for the first
		g.Go(func() { third = pop(t.Context(), r.q) })
		synctest.Wait()
		cancel()
		synctest.Wait()
		require.ErrorIs(t, first, context.Canceled)
		require.ErrorIs(t, second, context.Canceled)
		require.NoError(t, third)
		r.q.Close()
		g.Wait()
		require.ErrorIs(t, third, listwatch.ErrStopped)
	})
}

func TestOnePopAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, deltafifo.Options{})
		for i := range 20 {
			require.NoError(t, r.q.Add(t.Context(), newPod(fmt.Sprint("p", i), "", "1")))
		}
		r.q.Close()
		var g worker.Group
		var inside, most, keys atomic.Int32
		for range 3 {
			g.Go(func() {
				for {
					err := r.q.Pop(t.Context(), 1, func(b deltafifo.Batch[*pod]) error {
						most.Store(max(most.Load(), inside.Add(1)))
						runtime.Gosched()
						keys.Add(int32(len(b.Items)))
						inside.Add(-1)
						return nil
					})
					if err != nil {
						return
					}
				}
			})
		}
		g.Wait()
		require.EqualValues(t, 1, most.Load())
		require.EqualValues(t, 20, keys.Load())
	})
}

func TestPopInParts(t *testing.T) {
	r := newRig(t, deltafifo.Options{})
	var want []string
	next := 0
	push := func(n int) {
		for range n {
			name := fmt.Sprintf("p%04d", next)
			r.apply(event(listwatch.Added, newPod(name, "", "1"), ""))
			want = append(want, "Added "+name+"/@1")
			next++
		}
	}
	var got []string
	for _, n := range []int{5, 1, 100, 3, 700, 0, 2} {
		push(n)
		for range 2 {
			lines, _ := r.pop(1 + n/3)
			got = append(got, lines...)
		}
	}
	for r.q.Len() > 0 {
		lines, _ := r.pop(0)
		got = append(got, lines...)
	}
	equal(t, want, got)
}

// Scenario 94.
func TestDeliveredObjectsAreNotKept(t *testing.T) {
	for _, count := range []int{100, 5000} {
		t.Run(fmt.Sprint(count), func(t *testing.T) {
			q := deltafifo.New[*pod](nil, deltafifo.Options{})
			freed := make(chan struct{}, 4*count)
			tracked := func(name string) *pod {
				p := newPod(name, "", "1")
				runtime.AddCleanup(p, func(int) { freed <- struct{}{} }, 0)
				return p
			}
			for i := range count {
				name := fmt.Sprint("p", i)
				require.NoError(t, q.Add(t.Context(), tracked(name)))
				require.NoError(t, q.Update(t.Context(), tracked(name)))
				require.NoError(t, q.Delete(t.Context(), tracked(name)))
				s := q.Begin(listwatch.Compare)
				require.NoError(t, s.Put(t.Context(), tracked("suspect")))
				s.Abort()
			}
			for q.Len() > 0 {
				require.NoError(t, q.Pop(t.Context(), count/3, func(deltafifo.Batch[*pod]) error { return nil }))
			}
			runtime.GC()
			for range 4 * count {
				<-freed
			}
			runtime.KeepAlive(q)
		})
	}
}

func TestSteadyStateDoesNotAllocate(t *testing.T) {
	r := newRig(t, deltafifo.Options{})
	ctx := t.Context()
	var batch []listwatch.Event[*pod]
	for i := range 64 {
		batch = append(batch, event(listwatch.Modified, newPod(fmt.Sprint("p", i%48), "U", "1"), "1"))
	}
	var known []listwatch.Head
	for _, e := range batch {
		known = append(known, headOf(e.Object))
	}
	r.apply(batch...)
	r.pop(0)
	process := func(b deltafifo.Batch[*pod]) error {
		if len(b.Items) != 48 {
			return fmt.Errorf("%d items", len(b.Items))
		}
		return nil
	}
	cycle := func() {
		if err := r.q.Apply(ctx, batch...); err != nil {
			t.Error(err)
		}
		if err := r.q.Pop(ctx, 0, process); err != nil {
			t.Error(err)
		}
	}
	require.Zero(t, testing.AllocsPerRun(200, cycle), "64 events applied and popped")
	s := r.q.Begin(listwatch.Rebuild)
	require.Zero(t, testing.AllocsPerRun(200, func() {
		for _, h := range known {
			if !s.Known(h) {
				t.Error("not known")
			}
		}
	}))
}
