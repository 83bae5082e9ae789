package informer_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/reflector"
)

// Initial events that break off again and again, and the pages that follow them, show a collection
// that changes meanwhile: what an attempt has brought and the next one no longer shows is taken away.
func TestFirstReadBreaksOff(t *testing.T) {
	for breaks := range 5 {
		t.Run(fmt.Sprint(breaks), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := newServer(fakes.Options[*object]{})
				r := newRig(t, s, informer.Options{})
				recorder := &fakes.Recorder[*object]{}
				reg := r.handle(recorder.Handle, informer.HandlerOptions{Policy: informer.EveryEvent})
				for n := range 20 {
					r.put(fmt.Sprintf("o%02d", n), "0")
				}
				for n := range breaks {
					s.CutNext(5+4*n, nil)
				}
				r.start()
				for n := range min(breaks, 2) { // after the third stream pages follow at once
					synctest.Wait()
					require.False(t, r.Health().Synced)
					require.False(t, reg.Synced().Fired())
					r.drop(fmt.Sprintf("o%02d", n)) // was read
					r.drop(fmt.Sprintf("o%02d", 10+n))
					r.put(fmt.Sprintf("o%02d", n), "another life")
					r.drop(fmt.Sprintf("o%02d", n+5))
					r.put("o04", fmt.Sprint(n))
					pass(time.Until(r.Health().Source.NextRetry))
				}
				r.sync()
				require.True(t, reg.Synced().Fired())
				recorder.Check(t)
				require.Equal(t, byKey(s.Objects()), recorder.Held())
			})
		})
	}
}

// A server is restored while a comparing list is between two of its pages: the list is given up, and
// nothing that it has shown so far comes into the new epoch.
func TestRestoreInTheMiddleOfACompare(t *testing.T) {
	for _, ahead := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			comparing, restored := make(chan struct{}), make(chan struct{})
			once := sync.OnceFunc(func() { close(comparing) })
			s := newServer(fakes.Options[*object]{Hooks: fakes.Hooks{
				AfterList: func(_ context.Context, meta listwatch.ListMeta) error {
					if meta.Continue != "" && time.Now().Minute() >= 50 {
						once()
						<-restored
					}
					return nil
				},
			}})
			r := newRig(t, s, informer.Options{Reflector: reflector.Options{
				PageSize: 2, Rand: func() float64 { return 0.99 }, FirstList: reflector.FirstPages,
			}})
			var d diary
			r.handle(d.handle, informer.HandlerOptions{})
			for n := range 4 {
				r.put(fmt.Sprint("kept", n), "1")
			}
			backup := s.Version()
			r.put("kept0", "lost")
			r.put("gone", "1")
			r.start().sync()
			d.read()
			<-comparing
			require.NoError(t, s.Restore(backup))
			r.put("kept3", "after")
			if ahead { // the restored server passes the position before anybody asks
				s.Advance(100)
			}
			close(restored)
			pass(2 * time.Hour)
			r.equal()
			require.Equal(t, uint64(1), r.Health().Epoch)
			require.Equal(t, []string{"Delete gone 1 unknown", "Update kept0 lost>1", "Update kept3 1>after"}, slices.Sorted(slices.Values(d.read())))
			r.stop()
		})
	}
}

// A deletion and a resync at one moment: whichever comes first, a handler is told of an object that it
// holds, and not once it was told that it is gone.
func TestResyncAtTheMomentOfADelete(t *testing.T) {
	for _, policy := range []informer.Policy{informer.Coalesce, informer.EveryEvent} {
		for _, blocked := range []bool{false, true} {
			for _, early := range []time.Duration{-1, 0, 1} {
				t.Run(fmt.Sprint(policy, blocked, early), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						r := newRig(t, newServer(fakes.Options[*object]{}), informer.Options{})
						recorder := &fakes.Recorder[*object]{}
						resyncs := 0
						r.handle(func(ctx context.Context, c change) {
							if c.Resync {
								resyncs++
							}
							recorder.Handle(ctx, c)
						}, informer.HandlerOptions{Policy: policy, Backlog: 3, Resync: time.Minute})
						for n := range 200 {
							r.put(fmt.Sprint("o", n), "1")
						}
						r.start().sync()
						release := func() {}
						pass(time.Minute - early - time.Second)
						if blocked {
							release = recorder.Hold()
							r.put("o0", "2")
						}
						pass(time.Second)
						for n := 50; n < 53; n++ {
							r.drop(fmt.Sprint("o", n))
						}
						pass(time.Second)
						release()
						pass(time.Second)
						require.Equal(t, byKey(r.server.Objects()), recorder.Held())
						require.NoError(t, recorder.Err())
						require.InDelta(t, 198, resyncs, 2)
						r.stop()
					})
				})
			}
		}
	}
}

// Scenario 142. A resync whose calls all panic is followed by the next one, and by changes.
func TestResyncGoesOnAfterAPanic(t *testing.T) {
	for _, policy := range []informer.Policy{informer.Coalesce, informer.EveryEvent} {
		bubbleOf(t, policy.String(), func(t *testing.T) {
			r := newRig(t, newServer(fakes.Options[*object]{}), informer.Options{})
			var d diary
			reg := r.handle(func(ctx context.Context, c change) {
				d.handle(ctx, c)
				if c.Resync {
					panic("at a resync")
				}
			}, informer.HandlerOptions{Policy: policy, Resync: time.Minute})
			r.put("a", "1")
			r.put("b", "1")
			r.start().sync()
			pass(3 * time.Minute)
			r.put("b", "2")
			pass(time.Second)
			want := []string{"Add a 1 initial", "Add b 1 initial"}
			for range 3 {
				want = append(want, "Update a 1>1 resync", "Update b 1>1 resync")
			}
			require.Equal(t, append(want, "Update b 1>2"), d.read())
			require.Equal(t, uint64(6), reg.Stats().Panics)
		})
	}
}

// bubbleOf is a subtest in virtual time.
func bubbleOf(t *testing.T, name string, f func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { bubble(t, f) })
}
