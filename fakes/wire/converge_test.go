package wire_test

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
	"github.com/seed3bce33ad/listwatch/fakes/wire"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/internal/worker"
	"github.com/seed3bce33ad/listwatch/reflector"
	"github.com/seed3bce33ad/listwatch/reflector/rest"
)

// TestConverges runs an informer over HTTP through each kind of fault alone, with random values,
// while objects change. Once it is healed and the time of a comparing list has passed, the
// informer holds what the server holds.
func TestConverges(t *testing.T) {
	seed := seedOf(t)
	for _, kind := range fakes.FaultKinds() {
		if kind == fakes.FaultJump {
			continue // nothing of it is seen on the wire
		}
		t.Run(kind.String(), func(t *testing.T) {
			for n := range uint64(2) {
				rng := rand.New(rand.NewPCG(seed+n, uint64(kind)))
				synctest.Test(t, func(t *testing.T) { converge(t, rng, kind) })
			}
		})
	}
}

func converge(t *testing.T, rng *rand.Rand, kind fakes.FaultKind) {
	r := newRig(fakes.Options[object]{History: 10 + rng.IntN(100), NoInitialEvents: rng.IntN(2) == 0}, wire.Options[object]{
		BuiltIn: rng.IntN(2) == 0, OversizeBytes: 5000,
	}, rng.IntN(2) == 0)
	defer r.close()
	o := informer.Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
	o.Reflector = reflector.Options{PageSize: int64(rng.IntN(3) * 3), Relist: 30 * time.Minute}
	i := informer.New(r.source(t, rest.Options{MaxObjectBytes: 3000, Kind: "Object"}), o)
	write := func() {
		name := fmt.Sprint("o", rng.IntN(12))
		if rng.IntN(4) == 0 {
			_, _ = r.Delete(listwatch.Key{Namespace: "ns", Name: name}, fakes.Preconditions{})
			return
		}
		r.put(t, obj(name, fmt.Sprint(rng.IntN(1000))))
	}
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
	var script fakes.Script
	for range 6 {
		f := fakes.RandomFault(rng, kind)
		script = append(script, fakes.Step{Fault: f})
		require.NoError(t, fakes.Script{{Fault: f}}.Play(t.Context(), nil, r.server, r.proxy))
		for range rng.IntN(8) {
			write()
			time.Sleep(time.Duration(rng.IntN(3000)) * time.Millisecond)
		}
		time.Sleep(time.Duration(rng.IntN(100)) * time.Second)
	}
	r.server.Heal()
	r.proxy.Heal()
	time.Sleep(90 * time.Minute)
	synctest.Wait()
	require.True(t, i.Synced().Fired(), script)
	want, got := byKey(r.Objects()), byKey(i.Indexer().List())
	if kind == fakes.FaultRestore {
		// Of two states with one version and one identity nobody can tell which it is.
		for k, o := range got {
			if w := want[k]; w != nil && w.Meta == o.Meta {
				got[k] = w
			}
		}
	}
	require.Empty(t, cmp.Diff(want, got), script)
}

func byKey(objects []object) map[listwatch.Key]object {
	held := make(map[listwatch.Key]object, len(objects))
	for _, o := range objects {
		held[listwatch.KeyOf(o)] = o
	}
	return held
}
