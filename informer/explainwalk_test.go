package informer_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/informer"
)

// follower is a handler that goes on when it is let, and knows the state of each key that it was
// told last.
type follower struct {
	gate
	mu   sync.Mutex
	last map[listwatch.Key]listwatch.Head // guarded by mu
}

func (f *follower) handle(ctx context.Context, c change) {
	f.mu.Lock()
	f.last[c.Key] = after(c.Type, headOf(c.Object))
	f.mu.Unlock()
	f.gate.handle(ctx, c)
}

// after returns what is held after a change to a state.
func after(t informer.ChangeType, h listwatch.Head) listwatch.Head {
	if t == informer.Delete {
		return listwatch.Head{}
	}
	return h
}

// TestExplainIsTrueAtEachStep walks at random: after each step an explanation leads from what each
// handler was told, by the changes that it shows, to what the store holds.
func TestExplainIsTrueAtEachStep(t *testing.T) {
	t.Parallel()
	first, last := uint64(1), uint64(*seeds)/6
	if *seed != 0 {
		first, last = *seed, *seed
	}
	for s := first; s <= last; s++ {
		synctest.Test(t, func(t *testing.T) { walkAndExplain(t, s) })
	}
}

func walkAndExplain(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 11))
	r := newRig(t, newServer(fakes.Options[*object]{}), informer.Options{})
	keys := make([]listwatch.Key, 4)
	for n := range keys {
		keys[n] = key(fmt.Sprint("k", n))
	}
	r.start()
	var followers []*follower
	var steps []string
	for range 60 {
		k := keys[rng.IntN(len(keys))]
		step := rng.IntN(12)
		steps = append(steps, fmt.Sprint(step, k.Name))
		switch step {
		case 0, 1, 2, 3:
			r.put(k.Name, fmt.Sprint(rng.IntN(100)))
		case 4, 5:
			_, _ = r.server.Delete(k, fakes.Preconditions{})
		case 6:
			if len(followers) < 4 {
				f := &follower{gate: make(gate), last: map[listwatch.Key]listwatch.Head{}}
				followers = append(followers, f)
				o := informer.HandlerOptions{
					Name: fmt.Sprint(len(followers) - 1), Backlog: 1 + rng.IntN(6), Resync: time.Duration(rng.IntN(2)) * time.Minute,
				}
				if rng.IntN(3) == 0 {
					o.Policy, o.Backlog = informer.EveryEvent, 0
				}
				r.handle(f.handle, o)
			}
		case 7:
			r.server.Cut(nil)
			time.Sleep(time.Duration(rng.IntN(90)) * time.Second)
		default:
			for _, f := range followers {
				select {
				case f.gate <- struct{}{}:
				default:
				}
			}
		}
		synctest.Wait()
		for _, k := range keys {
			checkExplained(t, r.Explain(k), followers, fmt.Sprintf("seed %d, steps %s", seed, strings.Join(steps, " ")))
		}
	}
	for _, f := range followers {
		close(f.gate)
	}
	r.sync()
	for _, k := range keys {
		for _, h := range r.Explain(k).Handlers {
			require.Zero(t, h.InCall+h.Waiting)
		}
	}
}

func checkExplained(t *testing.T, e informer.Explanation, followers []*follower, where string) {
	t.Helper()
	require.Len(t, e.Handlers, len(followers), where)
	var stored listwatch.Head
	if e.Store.Held {
		stored = listwatch.Head{Key: e.Key, UID: e.Store.UID, ResourceVersion: e.Store.ResourceVersion}
	}
	for n, h := range e.Handlers {
		held, may := h.Told, []listwatch.Head{h.Told}
		require.LessOrEqual(t, h.InCall+h.Waiting, 16, "%s: too long a walk to be checked", where)
		for i, c := range h.Changes {
			require.Equal(t, c.Type == informer.Add, held == listwatch.Head{}, "%s: %v", where, h)
			held = after(c.Type, c.Head)
			if i < h.InCall {
				may = append(may, held)
			}
		}
		require.Equal(t, stored, held, "%s: %v", where, h)
		followers[n].mu.Lock()
		require.Contains(t, may, followers[n].last[e.Key], "%s: %v", where, h)
		followers[n].mu.Unlock()
	}
}

// TestExplainBesideEverything has the race detector look at explanations and pages while handlers
// come, go and are told, and while the informer ends.
func TestExplainBesideEverything(t *testing.T) {
	t.Parallel()
	server := newServer(fakes.Options[*object]{})
	pods := informer.New[*object](server, quiet(informer.Options{}))
	page := informer.DebugHandler(informer.DebugOptions{Informers: []informer.Inspected{pods}})
	ctx, cancel := context.WithCancel(t.Context())
	var others sync.WaitGroup
	others.Go(func() { _ = pods.Run(ctx) })
	require.NoError(t, pods.WaitForSync(ctx))
	for range 2 {
		others.Go(func() {
			for ctx.Err() == nil {
				reg, err := pods.AddHandler(ctx, func(context.Context, change) {}, informer.HandlerOptions{Backlog: 1})
				if err == nil {
					_ = reg.Stats()
					reg.Remove()
				}
			}
		})
	}
	others.Go(func() {
		for ctx.Err() == nil {
			e := pods.Explain(key("a"))
			_ = e.String() + ask(page, "GET", "/?informer=pods&key=ns/a").Body.String()
		}
	})
	reg, err := pods.AddHandler(ctx, func(context.Context, change) {}, informer.HandlerOptions{Backlog: 3})
	require.NoError(t, err)
	for n := range 500 {
		_, err := server.Put(named("a", fmt.Sprint(n)))
		require.NoError(t, err)
	}
	last, err := server.Get(key("a"))
	require.NoError(t, err)
	<-pods.Reached(last.ResourceVersion).Done()
	require.Equal(t, last.ResourceVersion, pods.Explain(key("a")).Store.ResourceVersion)
	cancel()
	others.Wait()
	<-reg.Done()
	require.Empty(t, pods.Explain(key("a")).Handlers)
}
