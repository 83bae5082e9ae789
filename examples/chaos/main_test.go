// Package chaos_test drives the whole line over real connections, with everything between the
// reference API server and the informers failing at random.
package chaos_test

import (
	"context"
	"flag"
	"maps"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
)

var (
	seedFlag  = flag.Uint64("seed", 0, "the seed; 0: a random one")
	forFlag   = flag.Duration("for", 8*time.Second, "for how long faults happen")
	staleFlag = flag.Bool("stale", true, "answer lists with older states, too")
	verbose   = flag.Bool("chatter", false, "log what the library logs")
)

func TestMain(m *testing.M) {
	flag.Parse()
	goleak.VerifyTestMain(m)
}

type counter = atomic.Int64

// settleTime is how long everything may take to become equal once the faults are over: a watch
// that hangs, a list that hangs, a comparing list, and a slow machine.
const settleTime = 30 * time.Second

// maxGrowth is how many bytes may be in use that were not before the faults. Most is etcd's
// history.
const maxGrowth = 64 << 20

// part is what the test needs of a reader, whatever it reads.
type part interface {
	run(ctx context.Context)
	settle(ctx context.Context)
	check(t *testing.T)
	drift() uint64
	end
}

// end is the rest of a part.
type end interface {
	tell(t *testing.T)
	stop()
}

// TestChaos lets several informers read over connections that fail in every way while objects
// change. Whatever happens, handlers are told nothing wrong; once it is over everything equals
// the server, and from then on no comparing list finds anything.
func TestChaos(t *testing.T) {
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64N(1 << 32)
	}
	t.Logf("seed %d, withholding %t", seed, seed%2 == 0)
	w := newWorld(t, seed)
	defer w.close()
	c := newChance(seed, 20)
	parts := []part{
		newReader[*corev1.ConfigMap](w, form{"plain", configMapPath + "/configmaps", "ConfigMap", false, false}, c),
		newReader[*widget](w, form{"secure", widgetPath + "/widgets", "Widget", true, false}, c),
		newReader[*corev1.ConfigMap](w, form{"manyplain", configMapPath + "/configmaps", "ConfigMap", false, true}, c),
		newReader[*widget](w, form{"manysecure", widgetPath + "/widgets", "Widget", true, true}, c),
	}
	for _, p := range parts {
		p.run(t.Context())
		defer p.stop()
	}
	before := heap()
	w.round(parts, seed, *forFlag)
	for _, p := range parts {
		p.tell(t)
	}
	t.Log(maps.Clone(w.gateway.done))
	w.writes.Range(func(what, n any) bool { t.Log(what, n.(*counter).Load()); return true })
	after := heap()
	t.Logf("heap %d kB, %d kB before; %d goroutines", after>>10, before>>10, runtime.NumGoroutine())
	require.Less(t, after, before+maxGrowth)
	var drift []uint64
	for _, p := range parts {
		drift = append(drift, p.drift())
	}
	quiet, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	w.churn(quiet, seed+1)
	w.writers.Wait()
	w.settle(parts)
	for i, p := range parts {
		require.Equal(t, drift[i], p.drift(), "drift without a fault")
	}
}

// round is a time of faults, and the calm after it.
func (w *world) round(parts []part, seed uint64, d time.Duration) {
	ctx, cancel := context.WithTimeout(w.t.Context(), d)
	defer cancel()
	w.churn(ctx, seed)
	var watching sync.WaitGroup
	watching.Go(func() {
		for ctx.Err() == nil {
			pause(ctx, 200*time.Millisecond)
			for _, p := range parts {
				p.check(w.t)
			}
		}
	})
	w.storm(ctx)
	w.writers.Wait()
	watching.Wait()
	w.settle(parts)
}

func (w *world) settle(parts []part) {
	ctx, cancel := context.WithTimeout(w.t.Context(), settleTime)
	defer cancel()
	began := time.Now()
	for _, p := range parts {
		p.settle(ctx)
		p.check(w.t)
	}
	w.t.Logf("settled after %s", time.Since(began).Round(time.Millisecond))
}

// heap returns the bytes in use.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
