package deltafifo_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/deltafifo"
	"github.com/seed3bce33ad/listwatch/internal/worker"
)

// busy is a server that is written to, watched, compared and popped, all at once.
type busy struct {
	mu     sync.Mutex // guards server
	server *server
	q      *deltafifo.DeltaFIFO[*pod]
	store  *memory
}

func (b *busy) write(writes int, written chan<- int) {
	random := rand.New(rand.NewPCG(1, 1))
	for range writes {
		b.mu.Lock()
		b.server.write(random.IntN)
		version := b.server.clock
		b.mu.Unlock()
		written <- version
	}
	close(written)
}

func (b *busy) watch(written <-chan int) (err error) {
	for version := range written {
		b.mu.Lock()
		e := b.server.event(version)
		b.mu.Unlock()
		err = errors.Join(err, b.q.Apply(context.Background(), e))
	}
	return err
}

// compare takes a list, whose objects several goroutines decode.
func (b *busy) compare() error {
	snapshot := b.q.Begin(listwatch.Compare)
	b.mu.Lock()
	version := b.server.clock
	listed := b.server.list(version)
	b.mu.Unlock()
	var decoders worker.Group
	faults := make([]error, len(listed)+1)
	for i, p := range listed {
		decoders.Go(func() {
			if !snapshot.Known(headOf(p)) {
				faults[i] = snapshot.Put(context.Background(), p)
			}
		})
	}
	decoders.Wait()
	faults[len(listed)] = snapshot.Commit(strconv.Itoa(version))
	return errors.Join(faults...)
}

func (b *busy) consume() error {
	for i := 0; ; i++ {
		err := b.q.Pop(context.Background(), i%3, func(batch deltafifo.Batch[*pod]) error {
			for _, item := range batch.Items {
				b.store.apply(item.Deltas)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
}

// A healthy watch shows no drift, whatever the timing.
func TestStressHealthyCompare(t *testing.T) {
	b := &busy{server: &server{uids: true, live: map[string]state{}}, store: newMemory()}
	b.q = deltafifo.New[*pod](b.store, deltafifo.Options{Limit: 8})
	require.NoError(t, b.q.Replace(t.Context(), "0"))
	written, watched := make(chan int, 16), make(chan struct{})
	var g worker.Group
	var applied, compared, popped error
	g.Go(func() { b.write(3000, written) })
	g.Go(func() { applied = b.watch(written); close(watched) })
	g.Go(func() {
		defer b.q.Close()
		for {
			if err := b.compare(); !errors.Is(err, deltafifo.ErrFull) {
				compared = errors.Join(compared, err)
			}
			select {
			case <-watched:
				return
			default:
			}
		}
	})
	g.Go(func() { popped = b.consume() })
	g.Wait()
	require.NoError(t, applied)
	require.NoError(t, compared)
	require.ErrorIs(t, popped, listwatch.ErrStopped)
	require.Zero(t, b.q.Stats().Drift)
	want := []listwatch.Head{}
	for _, p := range b.server.list(b.server.clock) {
		want = append(want, headOf(p))
	}
	equal(t, want, b.store.heads())
}

// Writers, snapshots of all modes and readers of the state at once, for the race detector. Two
// consumers share the popping.
func TestStressEverything(t *testing.T) {
	q := deltafifo.New[*pod](newMemory(), deltafifo.Options{Limit: 4})
	var writers, readers worker.Group
	for w := range 3 {
		writers.Go(func() {
			random := rand.New(rand.NewPCG(uint64(w), 2))
			for i := range 500 {
				p := newPod(names[random.IntN(len(names))], "", strconv.Itoa(i+1))
				_ = q.Apply(context.Background(), event(listwatch.EventType(1+random.IntN(3)), p, p.ResourceVersion))
			}
		})
		writers.Go(func() {
			random := rand.New(rand.NewPCG(uint64(w), 3))
			for i := range 200 {
				s := q.Begin(listwatch.Mode(1 + random.IntN(3)))
				p := newPod(names[random.IntN(len(names))], "", strconv.Itoa(i+1))
				if !s.Known(headOf(p)) {
					_ = s.Put(context.Background(), p)
				}
				if random.IntN(4) == 0 {
					s.Abort()
				} else if err := s.Commit(strconv.Itoa(i + 1)); err != nil && !errors.Is(err, listwatch.ErrStopped) && !errors.Is(err, deltafifo.ErrFull) {
					t.Error(err)
				}
			}
		})
	}
	var popped [2]int
	for r := range 2 {
		readers.Go(func() {
			for {
				err := q.Pop(context.Background(), 2, func(b deltafifo.Batch[*pod]) error {
					for _, item := range b.Items {
						popped[r] += len(item.Deltas)
					}
					return nil
				})
				if err != nil {
					return
				}
			}
		})
	}
	looks := []func() int{
		func() int { return len(q.List()) }, q.Len, func() int { return len(q.Position()) },
		func() int { return q.Stats().Keys }, func() int { return len(fmt.Sprint(q.HasSynced())) },
	}
	var written atomic.Bool
	seen := make([]int, len(looks))
	for n, look := range looks { // one a goroutine: the lock of one would hide that another has none
		readers.Go(func() {
			for i := 0; i < 2000 && !written.Load(); i++ {
				seen[n] += look()
			}
		})
	}
	writers.Wait()
	written.Store(true)
	q.Close()
	readers.Wait()
	require.GreaterOrEqual(t, popped[0]+popped[1], 1500, "every live event")
	require.Equal(t, 0, q.Stats().Keys+q.Stats().Deltas+q.Stats().InFlight+q.Stats().Waiting)
}
