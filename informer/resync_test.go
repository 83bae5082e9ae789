package informer_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/informer"
)

// A resync tells nothing of what is pending, and folds nothing.
func TestResyncLeavesTheBacklogAlone(t *testing.T) {
	for _, policy := range []informer.Policy{informer.Coalesce, informer.EveryEvent} {
		t.Run([]string{"Coalesce", "EveryEvent"}[policy], func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(t, newServer(fakes.Options[*object]{}), informer.Options{})
				r.put("a", "1")
				r.put("b", "1")
				var d diary
				block := make(chan struct{})
				r.handle(func(ctx context.Context, c change) {
					if c.Object.Value == "block" {
						<-block
					}
					d.handle(ctx, c)
				}, informer.HandlerOptions{Resync: time.Hour, Policy: policy})
				r.start().sync()
				d.read()
				r.put("b", "block")
				synctest.Wait()
				for _, value := range []string{"2", "3", "4"} {
					r.put("a", value)
					synctest.Wait()
				}
				time.Sleep(time.Hour)
				synctest.Wait()
				r.put("b", "5")
				synctest.Wait()
				close(block)
				r.sync()
				require.Equal(t, []string{
					"Update b 1>block", "Update b block>block resync",
					"Update a 1>2", "Update a 2>3", "Update a 3>4", "Update b block>5",
				}, d.read())
				time.Sleep(time.Hour)
				synctest.Wait()
				require.Equal(t, []string{"Update a 4>4 resync", "Update b 5>5 resync"}, sorted(d.read()))
			})
		})
	}
}

// What a resync tells does not count against the backlog of EveryEvent.
func TestResyncIsNoOverrun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, newServer(fakes.Options[*object]{}), informer.Options{})
		for _, name := range []string{"a", "b", "c", "d"} {
			r.put(name, "1")
		}
		var d diary
		reg := r.handle(func(ctx context.Context, c change) {
			if c.Resync {
				time.Sleep(time.Minute)
			}
			d.handle(ctx, c)
		}, informer.HandlerOptions{Resync: time.Hour, Policy: informer.EveryEvent, Backlog: 1})
		r.start().sync()
		d.read()
		time.Sleep(time.Hour)
		synctest.Wait()
		r.put("a", "2")
		synctest.Wait()
		require.EqualValues(t, 5, reg.Stats().Pending)
		time.Sleep(4 * time.Minute)
		r.sync()
		require.NoError(t, reg.Err())
		require.Len(t, d.read(), 5)
	})
}

// A period that ends before the handler is synced tells nothing.
func TestResyncWaitsForSync(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, newServer(fakes.Options[*object]{}), informer.Options{})
		r.put("a", "1")
		r.put("b", "1")
		var d diary
		r.handle(func(ctx context.Context, c change) {
			d.handle(ctx, c)
			if c.Initial {
				time.Sleep(time.Hour)
			}
		}, informer.HandlerOptions{Resync: 50 * time.Minute})
		r.start()
		time.Sleep(2*time.Hour + time.Minute)
		synctest.Wait()
		require.Equal(t, []string{"Add a 1 initial", "Add b 1 initial"}, sorted(d.read()))
		time.Sleep(30 * time.Minute)
		synctest.Wait()
		require.Len(t, d.read(), 2)
	})
}
