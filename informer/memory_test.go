package informer_test

import (
	"context"
	"runtime"
	"strconv"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/informer"
)

// plant is a source that remembers weakly each object that it has made.
type plant struct {
	made    []weak.Pointer[object]
	version int
	events  chan []listwatch.Event[*object]
}

func newPlant() *plant { return &plant{version: 1, events: make(chan []listwatch.Event[*object])} }

func (p *plant) List(context.Context, listwatch.ListOptions, func(...*object) error) (listwatch.ListMeta, error) {
	return listwatch.ListMeta{ResourceVersion: "1"}, nil
}

func (p *plant) Watch(ctx context.Context, o listwatch.WatchOptions, each func(...listwatch.Event[*object]) error) error {
	if o.InitialEvents {
		return listwatch.ErrUnsupported
	}
	for {
		select {
		case batch := <-p.events:
			if err := each(batch...); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// write sends n changes over so many keys, in batches, and returns when all is at rest.
func (p *plant) write(t listwatch.EventType, n, keys, batch int) {
	for sent := 0; sent < n; {
		var events []listwatch.Event[*object]
		for ; len(events) < batch && sent < n; sent++ {
			p.version++
			o := named(strconv.Itoa(p.version%keys), "v")
			o.UID, o.ResourceVersion = o.Name, strconv.Itoa(p.version)
			p.made = append(p.made, weak.Make(o))
			events = append(events, listwatch.Event[*object]{Type: t, Object: o, ResourceVersion: o.ResourceVersion})
		}
		p.events <- events
	}
	synctest.Wait()
}

// alive is how many of the objects are not garbage: the least of five looks. The collector takes what
// stands on the stack of a goroutine that it has interrupted for pointers, be it the goroutine of an
// earlier test, and the log is a chain.
func (p *plant) alive() int {
	least := len(p.made)
	for range 5 {
		runtime.Gosched()
		runtime.GC()
		n := 0
		for _, w := range p.made {
			if w.Value() != nil {
				n++
			}
		}
		least = min(least, n)
	}
	return least
}

// grow makes an informer of a plant that runs until stop.
func grow(t *testing.T) (p *plant, i *pods, stop func()) {
	p = newPlant()
	i = informer.New[*object](p, quiet(informer.Options{}))
	ctx, cancel := context.WithCancel(context.Background())
	run := make(chan error, 1)
	go func() { run <- i.Run(ctx) }()
	require.NoError(t, i.WaitForSync(ctx))
	return p, i, func() {
		cancel()
		require.NoError(t, <-run)
	}
}

func TestBlockedHandlerHoldsFewObjects(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const updates, keys = 200_000, 100
		p, i, stop := grow(t)
		release := make(chan struct{})
		var stuck []*informer.Registration
		for n := range 3 {
			var block func(context.Context, change)
			if n > 0 {
				block = func(_ context.Context, c change) {
					if c.Type == informer.Update {
						<-release
					}
				}
			} else {
				block = func(context.Context, change) { <-release }
			}
			reg, err := i.AddHandler(t.Context(), block, informer.HandlerOptions{Backlog: 1 + 1000*n})
			require.NoError(t, err)
			stuck = append(stuck, reg)
		}
		p.write(listwatch.Added, keys, keys, 1)
		p.write(listwatch.Modified, updates, keys, 250)
		for _, reg := range stuck {
			require.True(t, reg.Stats().Behind)
			require.LessOrEqual(t, reg.Stats().Pending, uint64(keys+64))
		}
		// The store's, and for each handler what it was told last and what it is being told.
		require.LessOrEqual(t, p.alive(), keys*(1+len(stuck))+2*64*len(stuck))
		close(release)
		synctest.Wait()
		require.Equal(t, keys, p.alive(), "those in the store")
		runtime.KeepAlive(i)
		stop()
	})
}

func TestIdleInformerHoldsNoOldObject(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, i, stop := grow(t)
		add := func(h function, o informer.HandlerOptions) *informer.Registration {
			reg, err := i.AddHandler(t.Context(), h, o)
			require.NoError(t, err)
			return reg
		}
		nothing := func(context.Context, change) {}
		slow := func(context.Context, change) { time.Sleep(10 * time.Millisecond) }
		add(nothing, informer.HandlerOptions{})
		add(nothing, informer.HandlerOptions{Policy: informer.EveryEvent, Resync: time.Minute})
		behind := add(slow, informer.HandlerOptions{Backlog: 10})
		p.write(listwatch.Added, 1000, 1000, 300)
		add(nothing, informer.HandlerOptions{Resync: time.Minute})
		p.write(listwatch.Modified, 20_000, 1000, 2500)
		require.True(t, behind.Stats().Behind)
		p.write(listwatch.Deleted, 900, 1000, 900)
		p.write(listwatch.Modified, 1, 1000, 1)
		time.Sleep(4*time.Minute + 30*time.Second)
		synctest.Wait()
		require.False(t, behind.Stats().Behind)
		require.Equal(t, 100, i.Indexer().Len())
		require.Equal(t, 100, p.alive())
		runtime.KeepAlive(i)
		stop()
	})
}

func TestRemovedHandlerHoldsNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, i, stop := grow(t)
		release := make(chan struct{})
		for _, policy := range []informer.Policy{informer.Coalesce, informer.EveryEvent} {
			reg, err := i.AddHandler(t.Context(), func(context.Context, change) { <-release },
				informer.HandlerOptions{Policy: policy, Backlog: 5000})
			require.NoError(t, err)
			p.write(listwatch.Added, 1, 1, 1)
			p.write(listwatch.Modified, 4000, 1, 10)
			require.Greater(t, p.alive(), 4000)
			reg.Remove()
			require.LessOrEqual(t, p.alive(), 4, "the store's, and the calls'")
			runtime.KeepAlive(reg)
		}
		close(release)
		synctest.Wait()
		require.Equal(t, 1, p.alive())
		runtime.KeepAlive(i)
		stop()
	})
}

// Scenario 63: what has stopped is garbage when nobody holds it, though contexts live on.
func TestStoppedInformerIsGarbage(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		informers := func() (gone []weak.Pointer[pods]) {
			for range 3 {
				p, i, stop := grow(t)
				_, err := i.AddHandler(ctx, func(context.Context, change) {}, informer.HandlerOptions{Resync: 100 * time.Hour})
				require.NoError(t, err)
				i.Reached("1000")
				p.write(listwatch.Added, 10, 10, 10)
				stop()
				gone = append(gone, weak.Make(i))
			}
			return gone
		}()
		time.Sleep(time.Hour) // the runtime forgets stopped timers with time
		runtime.GC()
		for _, i := range informers {
			require.True(t, i.Value() == nil)
		}
	})
}
