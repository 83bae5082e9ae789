package reflector_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/deltafifo"
	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/indexer"
	"github.com/seed3bce33ad/listwatch/internal/worker"
	"github.com/seed3bce33ad/listwatch/reflector"
)

var (
	simulationSeed = flag.Uint64("seed", 0, "seed of the one simulation to run; 0: new ones")
	simulations    = flag.Int("simulations", 150, "number of simulations")
)

// TestSimulation runs the reflector between a server in memory, with all its faults, and the
// real queue and store. Afterwards the store equals the server; per key no state went back
// but by a restore; and unless events were lost silently, no comparing list found anything.
func TestSimulation(t *testing.T) {
	if *simulationSeed != 0 {
		synctest.Test(t, func(t *testing.T) { newSimulation(t, *simulationSeed).run() })
		return
	}
	first := uint64(time.Now().UnixNano())
	for i := range uint64(*simulations) {
		synctest.Test(t, func(t *testing.T) { newSimulation(t, first+i).run() })
		if t.Failed() {
			return
		}
	}
}

type simulation struct {
	*testing.T
	random *rand.Rand
	source *fakes.Source[*fakes.Object]
	store  *indexer.Indexer[*fakes.Object]
	queue  *deltafifo.DeltaFIFO[*fakes.Object]
	r      *reflector.Reflector[*fakes.Object]
	lossy  bool // events are dropped, or the server is restored
	// restored: versions may go back, until the restore was noticed.
	restored atomic.Bool
	// last are the versions that the store was told last, within epoch.
	last  map[listwatch.Key]string
	epoch uint64
}

func newSimulation(t *testing.T, seed uint64) *simulation {
	t.Logf("-seed %d", seed)
	s := &simulation{T: t, random: rand.New(rand.NewPCG(seed, 1)), last: map[listwatch.Key]string{}}
	s.lossy = s.chance(3)
	s.source = fakes.New(fakes.StampObject, fakes.Options[*fakes.Object]{
		History: 10 + s.random.IntN(40), FreshWait: 3 * time.Second,
		NoInitialEvents: s.chance(2), ExpiredStatus: s.chance(2),
	})
	s.store = indexer.New[*fakes.Object](indexer.Options{})
	s.queue = deltafifo.New[*fakes.Object](s.store, deltafifo.Options{})
	s.r = reflector.New[*fakes.Object](s.source, s.queue, reflector.Options{
		Logger: quiet, Rand: chances(seed), Relist: time.Minute, PageSize: int64(s.random.IntN(2)) * 3,
		FirstList: reflector.FirstList(s.random.IntN(3)), WatchTimeout: time.Minute,
	})
	return s
}

// chances is a source of jitter for several goroutines.
func chances(seed uint64) func() float64 {
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(seed, 2))
	return func() float64 {
		mu.Lock()
		defer mu.Unlock()
		return random.Float64()
	}
}

func (s *simulation) chance(n int) bool { return s.random.IntN(n) == 0 }

func (s *simulation) run() {
	ctx, cancel := context.WithCancel(s.Context())
	var group worker.Group
	group.Go(func() { s.pop(ctx) })
	group.Go(func() { _ = s.r.Run(ctx) })
	before := s.r.Health()
	for range 80 {
		now := s.r.Health()
		if listwatch.Newer(before.Position, now.Position) && now.Restores == before.Restores {
			s.Errorf("the position went back from %s to %s without a restore", before.Position, now.Position)
		}
		before = now
		s.write()
		if s.chance(3) {
			s.fault()
		}
		if s.chance(2) {
			advance(time.Duration(s.random.IntN(20_000)) * time.Millisecond)
		}
	}
	s.source.Resume()
	require.NoError(s, s.source.Lag(""))
	advance(15 * time.Minute)

	want := map[listwatch.Key]string{}
	for _, o := range s.source.Objects() {
		want[listwatch.KeyOf(o)] = o.UID + "@" + o.ResourceVersion
	}
	got := map[listwatch.Key]string{}
	for _, o := range s.store.Reader().List() {
		got[listwatch.KeyOf(o)] = o.UID + "@" + o.ResourceVersion
	}
	require.Empty(s, cmp.Diff(want, got))
	require.Equal(s, s.source.Version(), s.r.Health().Position)
	require.Equal(s, s.queue.Position(), s.r.Health().Position)
	if !s.lossy {
		require.Zero(s, s.queue.Stats().Drift)
		require.Zero(s, s.r.Health().Restores)
		require.Zero(s, s.r.Health().Gaps)
	}
	cancel()
	s.queue.Close()
	group.Wait()
}

func (s *simulation) pop(ctx context.Context) {
	for {
		err := s.queue.Pop(ctx, 0, func(b deltafifo.Batch[*fakes.Object]) error {
			var writes []indexer.Write[*fakes.Object]
			for _, item := range b.Items {
				for _, d := range item.Deltas {
					writes = append(writes, indexer.Write[*fakes.Object]{
						Head: d.Head, Object: d.Object, Delete: d.Type == deltafifo.Deleted, Force: d.Force, Mark: d.Mark,
					})
				}
			}
			s.store.Apply("", writes)
			if b.Epoch > s.epoch {
				s.epoch = b.Epoch
				s.restored.Store(false)
				clear(s.last)
			}
			for _, w := range writes {
				if w.Applied && !s.restored.Load() && !w.Force && listwatch.Newer(s.last[w.Head.Key], w.Head.ResourceVersion) {
					s.Errorf("%s went back from %s to %s", w.Head.Key, s.last[w.Head.Key], w.Head.ResourceVersion)
				}
				if w.Applied {
					s.last[w.Head.Key] = w.Head.ResourceVersion
				}
			}
			return nil
		})
		if err != nil {
			return
		}
	}
}

func (s *simulation) write() {
	for range s.random.IntN(4) {
		o := &fakes.Object{Meta: listwatch.Meta{Name: fmt.Sprint("o", s.random.IntN(8))}, Value: fmt.Sprint(s.random.Uint64())}
		if s.chance(3) {
			_, _ = s.source.Delete(listwatch.KeyOf(o), fakes.Preconditions{})
		} else if _, err := s.source.Put(o); err != nil {
			s.Error(err)
		}
	}
}

func (s *simulation) fault() {
	codes := []int{403, 404, 410, 429, 500, 503}
	status := fakes.Status(codes[s.random.IntN(len(codes))], "")
	status.Event = s.chance(3)
	var failure error = status
	switch s.random.IntN(4) {
	case 0:
		failure = fmt.Errorf("%w: reset", listwatch.ErrUnavailable)
	case 1:
		failure = errors.New("boom")
	}
	switch s.random.IntN(12) {
	case 0:
		s.source.Cut(nil)
	case 1, 2:
		s.source.Cut(failure)
	case 3:
		s.source.CutNext(s.random.IntN(3), failure)
	case 4:
		s.source.Fail(fakes.VerbList, failure)
	case 5:
		s.source.Fail(fakes.VerbWatch, failure)
	case 6:
		require.NoError(s, s.source.Compact(s.source.Version()))
	case 7:
		s.source.Bookmark()
	case 8:
		s.source.Pause()
	case 9:
		s.source.Resume()
	case 10:
		_ = s.source.Lag(s.older(5)) // too old is refused
	default:
		s.lose()
	}
}

// lose drops events, or takes the server back, in simulations that may.
func (s *simulation) lose() {
	switch {
	case !s.lossy:
	case s.chance(2):
		s.source.Drop(2)
	default:
		_ = s.source.Lag("")
		s.restored.Store(true)
		if s.source.Restore(s.older(5)) == nil {
			// The server stays silent long enough to be found out before it catches up.
			advance(5 * time.Minute)
		}
	}
}

func (s *simulation) older(n int) string {
	version, err := strconv.Atoi(s.source.Version())
	require.NoError(s, err)
	return strconv.Itoa(max(version-s.random.IntN(n), 1))
}
