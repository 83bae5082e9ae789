package informer_test

import (
	"context"
	"flag"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/internal/measure"
)

var (
	boundsUpdates = flag.Int("bounds.updates", 0, "how many updates a blocked handler does not read; 0: 10,000,000 with -bounds.full, else few")
)

// reuse is what the queue may keep to use again: 1,024 items with the memory of 32 deltas of 112.
// Whether it does is chance. It is less than the 64 bytes of a Change for each of 100,000 updates.
const reuse = 4 << 20

// torrent is a source of so many keys, whose watch sends updates as it is told.
type torrent struct {
	keys    int
	version int
	updates chan int // how many to send; one send returns when they have been taken
}

func newTorrent(keys int) *torrent {
	return &torrent{keys: keys, version: keys, updates: make(chan int)}
}

// state returns the object of a version. Versions go through the keys in turn.
func (s *torrent) state(version int) *object {
	o := named("p"+strconv.Itoa(version%s.keys), "v")
	o.UID, o.ResourceVersion = o.Name, strconv.Itoa(version)
	return o
}

func (s *torrent) List(_ context.Context, _ listwatch.ListOptions, each func(...*object) error) (listwatch.ListMeta, error) {
	for v := s.version - s.keys + 1; v <= s.version; v++ {
		if err := each(s.state(v)); err != nil {
			return listwatch.ListMeta{}, err
		}
	}
	return listwatch.ListMeta{ResourceVersion: strconv.Itoa(s.version)}, nil
}

func (s *torrent) Watch(ctx context.Context, o listwatch.WatchOptions, each func(...listwatch.Event[*object]) error) error {
	if o.InitialEvents {
		return listwatch.ErrUnsupported
	}
	for {
		var left int
		select {
		case left = <-s.updates:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		for batch := make([]listwatch.Event[*object], 0, 250); left > 0; batch = batch[:0] {
			for ; left > 0 && len(batch) < cap(batch); left-- {
				s.version++
				o := s.state(s.version)
				batch = append(batch, listwatch.Event[*object]{Type: listwatch.Modified, Object: o, ResourceVersion: o.ResourceVersion})
			}
			if err := each(batch...); err != nil {
				return err
			}
		}
	}
}

// send has the watch send n updates, and returns when all is at rest.
func (s *torrent) send(n int) {
	s.updates <- n
	synctest.Wait()
}

// runs makes an informer of the source that runs until stop, or until the test ends.
func runs(t *testing.T, source listwatch.ListerWatcher[*object], o informer.Options) (i *pods, stop func()) {
	i = informer.New(source, quiet(o))
	ctx, cancel := context.WithCancel(context.Background())
	run := make(chan error, 1)
	go func() { run <- i.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(t, <-run)
	})
	t.Cleanup(stop)
	require.NoError(t, i.WaitForSync(ctx))
	synctest.Wait()
	return i, stop
}

// blocked returns a handler that does not return from a call that blocks says yes to, before
// release is closed.
func blocked(release chan struct{}, blocks func(change) bool) function {
	return func(ctx context.Context, c change) {
		if !blocks(c) {
			return
		}
		select {
		case <-release:
		case <-ctx.Done():
		}
	}
}

// Handlers that never return from a call, each blocked since another time, so that each holds
// other old states. The bytes are those of keys times handlers, however many updates come.
func TestBoundsOfBlockedHandlers(t *testing.T) {
	const keys, handlers, backlog = 1000, 10, 5000
	updates := measure.Sized(100_000, 10_000_000)
	if *boundsUpdates > 0 {
		updates = *boundsUpdates
	}
	synctest.Test(t, func(t *testing.T) {
		source := newTorrent(keys)
		i, stop := runs(t, source, informer.Options{})
		release := make(chan struct{})
		var stuck []*informer.Registration
		handle := func(since int, o informer.HandlerOptions) {
			reg, err := i.AddHandler(t.Context(), blocked(release, func(c change) bool {
				version, _ := strconv.Atoi(c.Object.ResourceVersion)
				return version > since
			}), o)
			require.NoError(t, err)
			stuck = append(stuck, reg)
		}
		source.send(10 * keys)
		bare := measure.Held()
		for n := range handlers {
			handle(source.version+keys*n, informer.HandlerOptions{})
		}
		handle(source.version, informer.HandlerOptions{Policy: informer.EveryEvent, Backlog: backlog})
		every := stuck[handlers]
		for range handlers {
			source.send(keys)
		}
		require.ErrorIs(t, every.Err(), informer.ErrOverrun)
		source.send(10 * keys)
		warm := measure.Held() - bare
		source.send(updates)
		grown := measure.Held() - bare - warm
		for _, reg := range stuck[:handlers] {
			require.True(t, reg.Stats().Behind)
			require.LessOrEqual(t, reg.Stats().Pending, uint64(keys+64))
		}
		close(release)
		synctest.Wait()
		left := measure.Held() - bare
		t.Logf("%d bytes for each key and handler; %d more after %d updates, %d when read", warm/keys/handlers, grown, updates, left)
		// A pending change, 96, its place in a map, 41 at a load of 44 to 88 %, and the old state
		// that this handler alone holds: an object, 160, its name and version, 16.
		require.Less(t, warm, 700*keys*handlers)
		require.Less(t, grown, reuse)
		require.Less(t, left, reuse)
		runtime.KeepAlive(i)
		stop()
	})
}

// silent is a source of n objects that has nothing more to say, and has no memory of its own.
func silent(n int) listwatch.Funcs[*object] {
	return listwatch.Funcs[*object]{
		ListFunc: func(_ context.Context, _ listwatch.ListOptions, each func(...*object) error) (listwatch.ListMeta, error) {
			var all []*object
			for v := range n {
				o := named("p"+strconv.Itoa(v), "v")
				o.UID, o.ResourceVersion = o.Name, "1"
				all = append(all, o)
			}
			return listwatch.ListMeta{ResourceVersion: "1"}, each(all...)
		},
		WatchFunc: func(ctx context.Context, _ listwatch.WatchOptions, _ func(...listwatch.Event[*object]) error) error {
			<-ctx.Done()
			return ctx.Err()
		},
	}
}

// memory returns the bytes of heap and of stacks in use, and the number of goroutines.
func memory() (heap, stacks, goroutines int) {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc), int(m.StackInuse), runtime.NumGoroutine()
}

// An informer that has read its first list gives back what that took, but for the objects and the
// store.
func TestBoundsOfMemoryAfterTheFirstList(t *testing.T) {
	const objects, n = 1000, 20
	source := silent(objects)
	var shared []*object
	_, _ = source.ListFunc(t.Context(), listwatch.ListOptions{}, func(all ...*object) error { shared = all; return nil })
	source.ListFunc = func(_ context.Context, _ listwatch.ListOptions, each func(...*object) error) (listwatch.ListMeta, error) {
		return listwatch.ListMeta{ResourceVersion: "1"}, each(shared...)
	}
	synctest.Test(t, func(t *testing.T) {
		before := measure.Held()
		for range n {
			i, _ := runs(t, source, informer.Options{})
			_, err := i.AddHandler(t.Context(), func(context.Context, change) {}, informer.HandlerOptions{})
			require.NoError(t, err)
		}
		synctest.Wait()
		each := (measure.Held() - before) / n / objects
		t.Logf("%d bytes for each object", each)
		// A row, 64, a slot, 24 at a load of 37 to 75 %, mark, pointer and place in the namespace, all
		// with room to grow. Deltas, writes and changes of the list would be 500 more.
		limit := 300
		if storage != nil {
			limit = 450 // the encoded state, and what keeps the object decoded beside it
		}
		require.Less(t, each, limit)
	})
}

// Many informers that run and have a handler each, with nothing to do.
func TestBoundsOfIdleInformers(t *testing.T) {
	n := measure.Sized(300, 10_000)
	source := silent(3)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		factory := make([]*pods, n)
		var running sync.WaitGroup
		heap, stacks, goroutines := memory()
		for n := range factory {
			i := informer.New(source, quiet(informer.Options{}))
			_, err := i.AddHandler(ctx, func(context.Context, change) {}, informer.HandlerOptions{Resync: time.Hour})
			require.NoError(t, err)
			running.Go(func() {
				if err := i.Run(ctx); err != nil {
					t.Error(err)
				}
			})
			factory[n] = i
		}
		synctest.Wait()
		h, s, g := memory()
		for _, i := range factory {
			require.True(t, i.Synced().Fired())
			require.Equal(t, 3, i.Indexer().Len())
		}
		t.Logf("each of %d: %d bytes of heap, %d of stacks, %d goroutines in all", n, (h-heap)/n, (s-stacks)/n, g-goroutines)
		require.Equal(t, 2*n, g-goroutines, "Run, in the caller's, and the reflector")
		// Reflector 1 kB, informer, queue, handler, store and call half of that each, timers and
		// contexts as well, descriptors of goroutines 1 kB, three objects with what the store has
		// of them 2 kB. Of stacks 8 kB a goroutine, more with the race detector.
		require.Less(t, (h-heap)/n, 9_000)
		require.Less(t, (s-stacks)/n, 60_000)
		cancel()
		running.Wait()
		clear(factory)
		time.Sleep(2 * time.Hour) // the runtime forgets stopped timers with time
		h, _, g = memory()
		require.Equal(t, 0, g-goroutines)
		require.Less(t, (h-heap)/n, 3000, "the runtime keeps the descriptors of goroutines, about 500 each")
	})
}

// Handlers come and go by each way there is, beside one that stays.
func TestBoundsOfHandlersThatGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i, stop := runs(t, silent(3), informer.Options{Resync: time.Hour})
		_, err := i.AddHandler(t.Context(), func(context.Context, change) {}, informer.HandlerOptions{})
		require.NoError(t, err)
		come := func(n int) (bytes, goroutines int) {
			for range n {
				ctx, cancel := context.WithCancel(t.Context())
				byContext, err := i.AddHandler(ctx, func(context.Context, change) {}, informer.HandlerOptions{})
				require.NoError(t, err)
				inside, err := i.AddHandler(ctx, func(context.Context, change) { cancel() }, informer.HandlerOptions{Policy: informer.EveryEvent})
				require.NoError(t, err)
				byRemove, err := i.AddHandler(t.Context(), func(context.Context, change) { runtime.Goexit() }, informer.HandlerOptions{})
				require.NoError(t, err)
				byRemove.Remove()
				for _, reg := range []*informer.Registration{byContext, inside, byRemove} {
					<-reg.Done()
				}
			}
			synctest.Wait()
			return measure.Held(), runtime.NumGoroutine()
		}
		warm, before := come(1000)
		n := measure.Sized(4000, 350_000)
		bytes, after := come(n)
		t.Logf("%d bytes more", bytes-warm)
		require.Equal(t, before, after)
		require.Len(t, i.Stats().Handlers, 1)
		require.Less(t, bytes-warm, 3*n+64<<10, "one byte for each that went, beside what the runtime keeps of its threads")
		stop()
	})
}

// A handler comes to a large collection and reads nothing of it for a while.
func TestBoundsOfLateHandler(t *testing.T) {
	objects := measure.Sized(20_000, 1_000_000)
	synctest.Test(t, func(t *testing.T) {
		i, stop := runs(t, silent(objects), informer.Options{})
		before := measure.Held()
		release := make(chan struct{})
		reg, err := i.AddHandler(t.Context(), blocked(release, func(change) bool { return true }), informer.HandlerOptions{})
		require.NoError(t, err)
		synctest.Wait()
		kept := measure.Held() - before
		close(release)
		synctest.Wait()
		left := measure.Held() - before
		t.Logf("%d bytes for each object, %d left", kept/objects, left)
		require.True(t, reg.Synced().Fired())
		// A pending change, 96, and its place in a map, 41 at a load of 44 to 88 %.
		require.Less(t, kept, 300*objects)
		require.Less(t, left, 16<<10)
		runtime.KeepAlive(i)
		stop()
	})
}

// Versions that never come: each has a signal until there are 65,536.
func TestBoundsOfReached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i, stop := runs(t, silent(3), informer.Options{})
		before := measure.Held()
		for kind, n := range map[string]int{"": measure.Sized(140_000, 2_000_000), "opaque-": measure.Sized(70_000, 2_000_000)} {
			for v := range n {
				i.Reached(kind + strconv.Itoa(1000+v))
			}
		}
		kept := measure.Held() - before
		t.Logf("%d bytes for each of 2 x 65536", kept/(2<<16))
		// A signal, 48, its version, 16, and its place in a slice, 24 and up to half empty, or in
		// an LRU, 120.
		require.Less(t, kept, 2<<16*170)
		stop()
		require.Less(t, measure.Held()-before, 1<<20)
		runtime.KeepAlive(i)
	})
}
