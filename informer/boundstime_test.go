package informer_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/internal/measure"
	"github.com/seed3bce33ad/listwatch/reflector"
)

// storm is a source whose watches have all expired, so that it is listed again and again.
type storm struct {
	objects int
	// known: lists ask which states are known, and leave those out. Changes: each list shows a
	// new state of each object.
	known, changes bool
	lists          atomic.Int64
}

func (s *storm) List(_ context.Context, o listwatch.ListOptions, each func(...*object) error) (listwatch.ListMeta, error) {
	version := strconv.FormatInt(s.lists.Add(1), 10)
	for n := range s.objects {
		ob := named("p"+strconv.Itoa(n), "v")
		ob.UID, ob.ResourceVersion = ob.Name, "1"
		if s.changes {
			ob.ResourceVersion = version
		}
		head := listwatch.Head{Key: listwatch.KeyOf(ob), UID: ob.UID, ResourceVersion: ob.ResourceVersion}
		if s.known && o.Known != nil && o.Known(head) {
			continue
		}
		if err := each(ob); err != nil {
			return listwatch.ListMeta{}, err
		}
	}
	return listwatch.ListMeta{ResourceVersion: version}, nil
}

func (s *storm) Watch(_ context.Context, o listwatch.WatchOptions, _ func(...listwatch.Event[*object]) error) error {
	if o.InitialEvents {
		return listwatch.ErrUnsupported
	}
	return listwatch.ErrExpired
}

// until lets time pass until so many lists have been read.
func (s *storm) until(lists int) {
	for s.lists.Load() < int64(lists) {
		time.Sleep(time.Minute)
	}
	synctest.Wait()
}

// Lists without end, beside a handler that reads and one that does not.
func TestBoundsOfRelists(t *testing.T) {
	const objects = 100
	lists := measure.Sized(150, 10_000)
	for name, s := range map[string]*storm{
		"known": {known: true}, "unchanged": {}, "changed": {changes: true}, "changed, known asked": {changes: true, known: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			s.objects = objects
			i, stop := runs(t, s, informer.Options{})
			release := make(chan struct{})
			var told atomic.Int64
			for _, h := range []function{
				func(context.Context, change) { told.Add(1) },
				blocked(release, func(change) bool { return true }),
			} {
				_, err := i.AddHandler(t.Context(), h, informer.HandlerOptions{})
				require.NoError(t, err)
			}
			s.until(50)
			warm, first := measure.Held(), i.Indexer().List()
			s.until(60 + lists)
			grown := measure.Held() - warm
			t.Logf("%s: %d bytes more", name, grown)
			if s.changes {
				require.Less(t, grown, objects*32*112, "what the queue may keep for reuse; 24 bytes an object listed")
				require.GreaterOrEqual(t, told.Load(), int64(objects*lists))
			} else {
				require.Less(t, grown, 15_000, "a byte an object listed")
				require.Equal(t, int64(objects), told.Load(), "the initial adds")
				require.Equal(t, first, i.Indexer().List())
				for n, o := range i.Indexer().List() {
					require.Same(t, first[n], o)
				}
			}
			require.Zero(t, i.Health().Drift)
			close(release)
			stop()
		})
	}
}

// flapping is a server whose watches are cut after a second or a minute, for every reason.
type flapping struct {
	random  *rand.Rand // used by Watch alone
	watches int

	mu       sync.Mutex // guards all below
	version  int
	versions []int // of the objects
}

func (s *flapping) object(k int) *object {
	o := named("p"+strconv.Itoa(k), "v")
	o.UID, o.ResourceVersion = o.Name, strconv.Itoa(s.versions[k])
	return o
}

func (s *flapping) List(_ context.Context, _ listwatch.ListOptions, each func(...*object) error) (listwatch.ListMeta, error) {
	s.mu.Lock()
	var all []*object
	for k := range s.versions {
		all = append(all, s.object(k))
	}
	meta := listwatch.ListMeta{ResourceVersion: strconv.Itoa(s.version)}
	s.mu.Unlock()
	return meta, each(all...)
}

// write changes an object and returns the event of it.
func (s *flapping) write(k int) listwatch.Event[*object] {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	s.versions[k%len(s.versions)] = s.version
	return listwatch.Event[*object]{Type: listwatch.Modified, Object: s.object(k % len(s.versions)), ResourceVersion: strconv.Itoa(s.version)}
}

func (s *flapping) Watch(ctx context.Context, o listwatch.WatchOptions, each func(...listwatch.Event[*object]) error) error {
	if o.InitialEvents {
		return listwatch.ErrUnsupported
	}
	s.watches++
	for range s.random.IntN(3) {
		if err := each(s.write(s.random.Int())); err != nil {
			return err
		}
	}
	if s.random.IntN(20) == 0 { // a gap: lost for the watch
		s.write(s.random.Int())
		_ = o.Refused(listwatch.Head{Key: key("p1")}, listwatch.ErrDecode)
	}
	cut := time.NewTimer([]time.Duration{time.Second, time.Minute}[s.random.IntN(2)])
	defer cut.Stop()
	select {
	case <-cut.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	reasons := []error{
		nil, listwatch.ErrExpired, listwatch.ErrUnavailable, listwatch.ErrProtocol, errors.New("connection reset"),
		listwatch.ErrTooManyRequests, listwatch.ErrForbidden, io.ErrUnexpectedEOF,
	}
	return reasons[s.random.IntN(len(reasons))]
}

// A week of watches that are cut and expire, of comparing lists, resyncs, and handlers that come
// and go. What lives at its end lived after some hours.
func TestBoundsOfAWeek(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &flapping{random: rand.New(rand.NewPCG(1, 2)), version: 1, versions: make([]int, 20)}
		i, stop := runs(t, s, informer.Options{Reflector: reflector.Options{Relist: 5 * time.Minute}})
		nothing := func(context.Context, change) {}
		_, err := i.AddHandler(t.Context(), nothing, informer.HandlerOptions{Resync: time.Minute})
		require.NoError(t, err)
		live := func(periods int) (bytes, goroutines int) {
			for range periods {
				ctx, cancel := context.WithCancel(t.Context())
				byContext, err := i.AddHandler(ctx, nothing, informer.HandlerOptions{Resync: time.Minute})
				require.NoError(t, err)
				byRemove, err := i.AddHandler(t.Context(), nothing, informer.HandlerOptions{Policy: informer.EveryEvent, Resync: time.Hour})
				require.NoError(t, err)
				i.Reached(i.Health().Version)
				time.Sleep(10 * time.Minute)
				cancel()
				<-byContext.Done()
				byRemove.Remove()
				<-byRemove.Done()
			}
			synctest.Wait()
			return measure.Held(), runtime.NumGoroutine()
		}
		const day = 24 * 6 // periods
		warm, before := live(day / 4)
		bytes, after := live(measure.Sized(1, 14) * day / 2)
		t.Logf("%d watches, %d bytes more", s.watches, bytes-warm)
		require.LessOrEqual(t, after, before+1)
		require.Less(t, bytes-warm, 64<<10)
		h := i.Health()
		require.NotZero(t, h.Source.Gaps)
		require.Len(t, i.Stats().Handlers, 1)
		stop()
	})
}

// A first list that is cut again and again shows new states each time. A blocked handler that is
// to see every one is not given the first list as an excuse.
func TestBoundsOfFirstListInVain(t *testing.T) {
	const objects, backlog = 100, 2000
	synctest.Test(t, func(t *testing.T) {
		s := &storm{objects: objects, changes: true}
		cut := listwatch.Funcs[*object]{
			ListFunc: func(ctx context.Context, o listwatch.ListOptions, each func(...*object) error) (listwatch.ListMeta, error) {
				_, _ = s.List(ctx, o, each)
				return listwatch.ListMeta{}, listwatch.ErrUnavailable
			},
			WatchFunc: s.Watch,
		}
		i := informer.New[*object](cut, quiet(informer.Options{}))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		reg, err := i.AddHandler(ctx, blocked(make(chan struct{}), func(change) bool { return true }),
			informer.HandlerOptions{Policy: informer.EveryEvent, Backlog: backlog})
		require.NoError(t, err)
		run := make(chan error, 1)
		go func() { run <- i.Run(ctx) }()
		s.until(1)
		require.NoError(t, reg.Err())
		require.Equal(t, objects*s.lists.Load(), int64(reg.Stats().Pending), "not too many yet")
		s.until(30)
		require.ErrorIs(t, reg.Err(), informer.ErrOverrun)
		cancel()
		require.NoError(t, <-run)
	})
}
