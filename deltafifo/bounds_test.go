package deltafifo_test

import (
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/deltafifo"
	"github.com/seed3bce33ad/listwatch/internal/measure"
)

func crowd(n, version int) (pods []*pod) {
	for i := range n {
		pods = append(pods, newPod("p"+strconv.Itoa(i), "U", strconv.Itoa(version)))
	}
	return pods
}

func drop(deltafifo.Batch[*pod]) error { return nil }

// deltaSize is the size of a Delta; slices of them may be half empty, or more while they grow.
const deltaSize = 88

// Nobody pops. Writers go on until the queue is full and wait then, each with one batch.
func TestBoundsOfFullQueue(t *testing.T) {
	const keys, limit, writers, batch = 1000, 65_536, 50, 20
	pods := crowd(keys, 1)
	synctest.Test(t, func(t *testing.T) {
		before := measure.Held()
		q := deltafifo.New[*pod](nil, deltafifo.Options{})
		var writing sync.WaitGroup
		var written atomic.Int64
		for range writers {
			writing.Go(func() {
				for n := int(written.Add(batch)); n < 2*limit; n = int(written.Add(batch)) {
					var events []listwatch.Event[*pod]
					for i := range batch {
						events = append(events, event(listwatch.Modified, pods[(n+i)%keys], ""))
					}
					if err := q.Apply(t.Context(), events...); err != nil {
						t.Error(err)
					}
				}
			})
		}
		synctest.Wait()
		full := measure.Held() - before
		s := q.Stats()
		require.Equal(t, writers, s.Waiting)
		require.GreaterOrEqual(t, s.Deltas, limit)
		require.LessOrEqual(t, s.Deltas, limit+keys+writers*batch)
		for q.Len() > 0 {
			require.NoError(t, q.Pop(t.Context(), 100, drop))
			synctest.Wait()
		}
		writing.Wait()
		left := measure.Held() - before
		t.Logf("%d bytes a delta, %d left", full/s.Deltas, left)
		require.Less(t, full, 2*deltaSize*s.Deltas)
		// The 1,000 items are kept for reuse: 192 bytes each, and some with the memory of up to 16
		// deltas; those with more gave it back.
		require.Less(t, left, 1024*1500)
		runtime.KeepAlive(q)
	})
	runtime.KeepAlive(pods)
}

// Nobody pops while the collection is listed again and again, in all modes. Lists of unchanged
// objects queue nothing. Of others, keys that a list brings or misses stand in the queue once.
func TestBoundsOfRelists(t *testing.T) {
	const keys = 500
	pods := crowd(keys, 1)
	for name, objects := range map[string][]*pod{"unchanged": pods, "changed": crowd(keys, 7), "fewer": pods[:keys/2]} {
		r := newRig(t, deltafifo.Options{})
		r.fill("5", pods...)
		list := func(mode listwatch.Mode) {
			s := r.q.Begin(mode)
			for _, p := range objects {
				if !s.Known(headOf(p)) {
					put(t, s, p)
				}
			}
			require.NoError(t, s.Commit("9"))
		}
		modes := []listwatch.Mode{listwatch.Rebuild, listwatch.Compare, listwatch.Reset}
		for _, mode := range modes {
			list(mode)
		}
		warm, deltas := measure.Held(), r.q.Stats().Deltas
		for range measure.Sized(40, 2000) {
			for _, mode := range modes {
				list(mode)
			}
		}
		grown := measure.Held() - warm
		t.Logf("%s: %d deltas, %d bytes more", name, deltas, grown)
		require.Equal(t, deltas, r.q.Stats().Deltas, name)
		require.LessOrEqual(t, deltas, keys, name)
		require.Equal(t, name == "unchanged", deltas == 0, name)
		require.Less(t, grown, 16<<10, "%s: less than one byte for each key listed", name)
		runtime.KeepAlive(r)
	}
}

// Each key comes once, and goes, beside a list that is never complete and one that waits for
// its version: what is remembered for them goes with them.
func TestBoundsOfChurn(t *testing.T) {
	r := newRig(t, deltafifo.Options{})
	r.fill("1", crowd(100, 1)...)
	version := 1
	churn := func(n int) {
		for range n {
			version++
			p := newPod("q"+strconv.Itoa(version), "", strconv.Itoa(version))
			r.apply(event(listwatch.Added, p, p.ResourceVersion))
			version++
			r.apply(event(listwatch.Deleted, p, strconv.Itoa(version)))
			r.pop(0)
		}
	}
	cycle := func() int {
		for range 10 {
			s := r.q.Begin(listwatch.Compare)
			churn(measure.Sized(100, 10_000))
			s.Abort()
			s = r.q.Begin(listwatch.Compare)
			require.NoError(t, s.Commit(strconv.Itoa(version+1_000_000_000)))
			churn(measure.Sized(100, 10_000))
			require.Equal(t, 100, r.q.Stats().Unswept)
		}
		return measure.Held()
	}
	warm := cycle()
	for range 4 {
		require.Less(t, cycle()-warm, 16<<10, "8,000 keys, two bytes each")
	}
	require.Len(t, r.store.heads(), 100)
}

// A crowd of keys is queued at once; then, without a moment of rest, the keys come one by one.
func TestBoundsOfCrowd(t *testing.T) {
	const stay = 50
	pods := crowd(measure.Sized(5000, 500_000), 1)
	q := deltafifo.New[*pod](nil, deltafifo.Options{})
	before := measure.Held()
	for _, p := range pods {
		require.NoError(t, q.Apply(t.Context(), event(listwatch.Added, p, "")))
	}
	full := measure.Held() - before
	for q.Len() > stay {
		require.NoError(t, q.Pop(t.Context(), 1, drop))
	}
	one := func(rounds int) int {
		for n := range rounds * len(pods) {
			require.NoError(t, q.Apply(t.Context(), event(listwatch.Added, pods[n%len(pods)], "")))
			require.NoError(t, q.Pop(t.Context(), 1, drop))
		}
		require.Equal(t, stay, q.Len())
		return measure.Held() - before
	}
	busy := one(1)
	require.Less(t, one(4)-busy, len(pods), "a quarter byte for each that came and went")
	require.NoError(t, q.Pop(t.Context(), 0, drop))
	left := measure.Held() - before
	t.Logf("%d bytes a key, then %d, %d left", full/len(pods), busy/len(pods), left)
	// An item, 192, a place in the table, 15 to 30 as it is filled, and one in the order, 8.
	require.Less(t, full, 800*len(pods))
	// Table and order keep their size while there is something in them, and 1,024 items are kept.
	require.Less(t, busy, 150*len(pods)+1024*800)
	require.Less(t, left, 1024*800)
	runtime.KeepAlive(q)
	runtime.KeepAlive(pods)
}

// Each key has one burst, and is never at rest: a change of it is in flight or queued, always.
// Without a mend of its memory each would keep that of its burst, 110 kB.
func TestBoundsOfBursts(t *testing.T) {
	const keys, burst = 100, 1000
	pods := crowd(keys, 1)
	q := deltafifo.New[*pod](nil, deltafifo.Options{})
	write := func(p *pod, n int) {
		for range n {
			require.NoError(t, q.Apply(t.Context(), event(listwatch.Modified, p, "")))
		}
	}
	busy := func(deltafifo.Batch[*pod]) error {
		for _, p := range pods {
			write(p, 1)
		}
		return nil
	}
	before := measure.Held()
	for _, p := range pods {
		write(p, burst)
		for range 3 {
			require.NoError(t, q.Pop(t.Context(), 0, busy))
		}
	}
	kept := measure.Held() - before
	t.Logf("%d bytes a key", kept/keys)
	// Two items, 192 each, a place in the table, 15 to 30, those in order and flight, 16, and in one batch out,
	// 56: 500 to 700 with what is constant.
	require.Less(t, kept, keys*1500)
	runtime.KeepAlive(q)
	runtime.KeepAlive(pods)
}
