package informer_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/indexer"
	"github.com/seed3bce33ad/listwatch/informer"
)

// comers are handlers that come at different moments of an informer's life.
type comers struct {
	*rig
	mu  sync.Mutex // guards all below
	all map[string]*comer
}

type comer struct {
	fakes.Recorder[*object]
	reg   *informer.Registration
	calls atomic.Int64
}

// come adds a handler once, of both policies.
func (c *comers) come(moment string) {
	for _, policy := range []informer.Policy{informer.Coalesce, informer.EveryEvent} {
		name := fmt.Sprintf("%s, %s", moment, policy)
		c.mu.Lock()
		one, again := &comer{}, c.all[name] != nil
		if !again {
			c.all[name] = one
		}
		c.mu.Unlock()
		if again {
			continue
		}
		reg, err := c.AddHandler(context.Background(), func(ctx context.Context, x change) {
			one.calls.Add(1)
			one.Handle(ctx, x)
		}, informer.HandlerOptions{Name: name, Policy: policy, Resync: time.Minute})
		if err != nil {
			require.ErrorIs(c.t, err, listwatch.ErrStopped)
			continue
		}
		one.reg = reg
	}
}

// A handler may come at any moment, out of whatever call: it is told everything once and in order,
// it is synced when it was told what was there, and nothing after the end.
func TestHandlerComesAtAnyMoment(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := &comers{all: map[string]*comer{}}
		var s *server
		write := func(n int) {
			_, err := s.Put(named("a", fmt.Sprint(n)))
			require.NoError(t, err)
			_, err = s.Put(named(fmt.Sprint("b", n), ""))
			require.NoError(t, err)
		}
		s = newServer(fakes.Options[*object]{NoInitialEvents: true, Hooks: fakes.Hooks{
			BeforeList: func(_ context.Context, o listwatch.ListOptions) error {
				c.come("before page " + o.Continue)
				return nil
			},
			AfterList:   func(context.Context, listwatch.ListMeta) error { c.come("behind a page"); write(1); return nil },
			BeforeWatch: func(context.Context, listwatch.WatchOptions) error { c.come("before the watch"); write(2); return nil },
		}})
		c.rig = newRig(t, s, informer.Options{
			Reflector: pages(3),
			OnError:   func(error) { c.come("at an error") },
			Index:     indexer.Options{OnError: func(error) { c.come("at a fault of an index") }},
		})
		for n := range 10 {
			c.put(fmt.Sprint("o", n), "")
		}
		_, err := indexer.AddIndex(c.Indexer(), "bad", func(o *object) []string {
			if o.Name == "o5" {
				panic("bad")
			}
			return nil
		})
		require.NoError(t, err)
		c.handle(func(context.Context, change) { c.come("in a handler") }, informer.HandlerOptions{})
		c.Synced().AfterFunc(func() { c.come("at the sync"); write(3) })
		c.Reached("13").AfterFunc(func() { c.come("at a version"); write(4) })
		c.come("before Run")
		ctx, cancel := context.WithCancel(context.Background())
		go func() { c.run <- c.Run(ctx) }()
		require.NoError(t, c.WaitForSync(t.Context()))
		pass(10 * time.Second)
		s.Cut(errors.New("cut"))
		write(5)
		pass(30 * time.Minute)
		c.drop("o1")
		write(6)
		synctest.Wait()

		c.equal()
		for name, one := range c.all {
			require.NoError(t, one.Err(), name)
			require.Equal(t, byKey(s.Objects()), one.Held(), name)
			require.True(t, one.reg.Synced().Fired(), name)
			require.Zero(t, one.reg.Stats().Pending, name)
		}
		require.GreaterOrEqual(t, len(c.all), 2*10)
		c.end(cancel, func() { write(7) })
	})
}

// end stops the informer while handlers come and changes do.
func (c *comers) end(cancel func(), write func()) {
	t := c.t
	c.stopping(cancel)
	write()
	require.NoError(t, <-c.run)
	c.run = nil
	calls := map[string]int64{}
	for name, one := range c.all {
		calls[name] = one.calls.Load()
	}
	c.come("after the end")
	write()
	pass(time.Hour)
	for name, one := range c.all {
		require.Equal(t, calls[name], one.calls.Load(), name)
		if one.reg != nil {
			<-one.reg.Done()
			require.ErrorIs(t, one.reg.Err(), listwatch.ErrStopped, name)
		}
	}
	require.Nil(t, c.all["after the end, Coalesce"].reg)
}

// stopping cancels from inside a call, and adds handlers before and behind it.
func (c *comers) stopping(cancel func()) {
	_, err := c.AddHandler(context.Background(), func(ctx context.Context, _ change) {
		c.come("before the stop")
		cancel()
		c.come("at the stop")
		<-ctx.Done()
		c.come("in the last call")
	}, informer.HandlerOptions{})
	require.NoError(c.t, err)
}
