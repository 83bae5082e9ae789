package informer_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

// The whole line of a step that waits for its own write: it is run again when the cache shows it,
// not before, whoever adds its key, and not later.
func TestStepIsParkedUntilTheCacheShowsItsWrite(t *testing.T) {
	for name, lag := range map[string]time.Duration{"behind": 7 * time.Second, "not behind": 0, "long": 29 * time.Second} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(t, newServer(fakes.Options[*object]{}), informer.Options{}).start().sync()
				q := workqueue.New[string](workqueue.Options{})
				began := time.Now()
				var runs []time.Duration
				version := ""
				step := func(context.Context, string) (workqueue.Result, error) {
					runs = append(runs, time.Since(began))
					if version != "" {
						require.Equal(t, version, r.Indexer().Version())
						return workqueue.Result{}, nil
					}
					if lag > 0 {
						r.server.Pause()
						time.AfterFunc(lag, r.server.Resume)
						time.AfterFunc(lag/2, func() { q.Add("parent") }) // a foreign event
					}
					version = r.put("child", "1").ResourceVersion
					return workqueue.Result{Await: r.Reached(version)}, nil
				}
				ended := make(chan error, 1)
				go func() { ended <- workqueue.Process(t.Context(), q, 1, step) }()
				q.Add("parent")
				time.Sleep(time.Hour)
				q.Close()
				require.NoError(t, <-ended)
				require.Equal(t, []time.Duration{0, lag}, runs)
			})
		})
	}
}

// However many versions are waited for, memory is bounded, and nothing fires too early.
func TestReachedIsBounded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const limit = 1 << 16
		r := newRig(t, newServer(fakes.Options[*object]{}), informer.Options{}).start().sync()
		at := func(n int) *listwatch.Signal { return r.Reached(strconv.Itoa(n)) }
		signals := map[*listwatch.Signal]bool{}
		for n := range limit {
			signals[at(10+2*n)] = true
		}
		require.Len(t, signals, limit)
		require.Same(t, at(12), at(11), "it fires a little late")
		require.Same(t, at(10), at(10))
		beyond := 10 + 2*limit
		rest := at(beyond)
		require.False(t, signals[rest])
		require.Same(t, rest, at(beyond+1000))
		require.Same(t, rest, at(beyond+1))
		require.NotSame(t, rest, at(beyond-2))
		fired := func(n int) { // moves the server there
			v, _ := strconv.Atoi(r.server.Version())
			r.server.Advance(uint64(n - v))
			r.server.Bookmark()
			synctest.Wait()
		}
		twelve, last := at(11), at(beyond-2)
		fired(11)
		require.False(t, twelve.Fired())
		fired(12)
		require.True(t, twelve.Fired())
		require.NotSame(t, rest, at(beyond+5000), "there is room again")
		fired(beyond + 999)
		require.True(t, last.Fired())
		require.False(t, rest.Fired(), "it waits for the newest of those that share it")
		fired(beyond + 1000)
		require.True(t, rest.Fired())
	})
}

// A restore fires whatever waits, also what had to share.
func TestReachedSharedByRestore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, newServer(fakes.Options[*object]{}), informer.Options{})
		r.put("a", "1")
		kept := r.server.Version()
		r.server.Advance(10)
		r.start().sync()
		for n := range 1<<16 + 1 {
			r.Reached(strconv.Itoa(1_000_000 + n))
		}
		one, rest := r.Reached("1000000"), r.Reached("2000000")
		require.NoError(t, r.server.Restore(kept))
		time.Sleep(time.Hour)
		r.sync()
		require.True(t, one.Fired())
		require.True(t, rest.Fired())
	})
}

// Versions that are no numbers: several in one batch, and one that is asked for when it is over.
func TestReachedOfOpaqueVersionsThatWerePassed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		events := make(chan []listwatch.Event[*object])
		r := &rig{pods: informer.New[*object](opaque(events), quiet(informer.Options{})), t: t, run: make(chan error, 1)}
		r.start()
		tell := func(e ...listwatch.Event[*object]) { events <- e; synctest.Wait() }
		first, never := r.Reached("v1"), r.Reached("v2x")
		tell(state(listwatch.Added, "a", "v1"), state(listwatch.Added, "b", "v2"), state(listwatch.Modified, "a", "v3"))
		require.Equal(t, "v3", r.Health().Version)
		require.True(t, first.Fired(), "the collection has never stood there")
		require.True(t, r.Reached("v2").Fired(), "the answer may come after the event")
		require.False(t, never.Fired())
		for n := range 1024 {
			tell(state(listwatch.Modified, "a", fmt.Sprint("w", n)))
		}
		require.False(t, r.Reached("v2").Fired(), "it was long ago")
		for n := range 1 << 16 {
			r.Reached(fmt.Sprint("x", n))
		}
		tell(state(listwatch.Modified, "a", "v2x"))
		require.False(t, never.Fired(), "it was given up")
		last := r.Reached("x65535")
		tell(listwatch.Event[*object]{Type: listwatch.Bookmark, ResourceVersion: "x65535"})
		require.True(t, last.Fired())
	})
}
