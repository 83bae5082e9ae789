package fakes_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/internal/worker"
	"github.com/seed3bce33ad/listwatch/reflector"
)

// TestConverges runs an informer through each kind of fault alone, with random values, while
// objects change. Once it is healed and the time of a comparing list has passed, the informer
// holds what the server holds.
func TestConverges(t *testing.T) {
	seed := seedOf(t)
	for _, kind := range fakes.FaultKinds() {
		if !kind.OfSource() && kind != fakes.FaultJump {
			continue // package wire has the same test for its own
		}
		t.Run(kind.String(), func(t *testing.T) {
			for n := range uint64(4) {
				rng := rand.New(rand.NewPCG(seed+n, uint64(kind)))
				synctest.Test(t, func(t *testing.T) { converge(t, rng, kind) })
			}
		})
	}
}

func converge(t *testing.T, rng *rand.Rand, kind fakes.FaultKind) {
	s := newSource(options{
		History: 10 + rng.IntN(100), NoInitialEvents: rng.IntN(2) == 0, ExpiredStatus: rng.IntN(2) == 0,
		FreshWait: time.Duration(rng.IntN(2)) * 3 * time.Second,
	})
	clock := fakes.NewClock(nil)
	o := informer.Options{Clock: clock, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
	o.Reflector = reflector.Options{PageSize: int64(rng.IntN(3) * 3), Relist: 30 * time.Minute}
	i := informer.New(s, o)
	write := func() {
		name := fmt.Sprint("o", rng.IntN(12))
		if rng.IntN(4) == 0 {
			_, _ = s.Delete(key(name), fakes.Preconditions{})
			return
		}
		put(t, s, obj(name, fmt.Sprint(rng.IntN(1000))))
	}
	var rec fakes.Recorder[object]
	_, err := i.AddHandler(t.Context(), rec.Handle, informer.HandlerOptions{})
	require.NoError(t, err)
	for range rng.IntN(20) {
		write()
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running worker.Group
	running.Go(func() { _ = i.Run(ctx) })
	defer running.Wait()
	defer cancel()
	if rng.IntN(2) == 0 {
		synctest.Wait() // it has synced
	}
	var done []string
	for range 6 {
		f := fakes.RandomFault(rng, kind)
		done = append(done, f.String())
		if kind == fakes.FaultJump {
			require.NoError(t, clock.Inject(f))
		} else {
			require.NoError(t, s.Inject(f))
		}
		for range rng.IntN(8) {
			write()
			time.Sleep(time.Duration(rng.IntN(3000)) * time.Millisecond)
		}
		time.Sleep(time.Duration(rng.IntN(100)) * time.Second)
	}
	s.Heal()
	clock.Heal()
	time.Sleep(90 * time.Minute)
	synctest.Wait()
	require.True(t, i.Synced().Fired(), done)
	want, got := byKey(s.Objects()), byKey(i.Indexer().List())
	if kind == fakes.FaultRestore {
		// Of two states with one version and one identity nobody can tell which it is.
		for k, o := range got {
			if w := want[k]; w != nil && w.Meta == o.Meta {
				got[k] = w
			}
		}
	} else {
		rec.Check(t)
	}
	require.Empty(t, cmp.Diff(want, got), "%q", done)
}

func byKey(objects []object) map[listwatch.Key]object {
	held := make(map[listwatch.Key]object, len(objects))
	for _, o := range objects {
		held[listwatch.KeyOf(o)] = o
	}
	return held
}
