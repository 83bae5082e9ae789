package chaos_test

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/fakes/wire"
)

// chance is a source of random numbers for several goroutines.
type chance struct {
	mu  sync.Mutex
	rng *rand.Rand // guarded by mu
}

func newChance(seed, stream uint64) *chance { return &chance{rng: rand.New(rand.NewPCG(seed, stream))} }

func (c *chance) n(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rng.IntN(n)
}

func (c *chance) hit(percent float64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rng.Float64()*100 < percent
}

func (c *chance) float() float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rng.Float64()
}

// network is a bad network to a server: a proxy, with faults by chance.
type network struct {
	*wire.Proxy
	front  *wire.Endpoint
	chance *chance
}

func newNetwork(t *testing.T, target string, c *chance) *network {
	t.Helper()
	front, err := wire.Loopback()
	require.NoError(t, err)
	return &network{Proxy: wire.NewProxy(front, wire.Remote(target), wire.ProxyOptions{}), front: front, chance: c}
}

// suffer lets something happen to the connections that live.
func (n *network) suffer(t *testing.T) {
	t.Helper()
	f := fakes.Fault{Kind: fakes.FaultReset, N: n.chance.n(1 << (4 + n.chance.n(14)))}
	switch n.chance.n(4) {
	case 0:
		f = fakes.Fault{Kind: fakes.FaultBlackHole, For: time.Duration(1+n.chance.n(5000)) * time.Millisecond}
	case 1:
		f = fakes.Fault{Kind: fakes.FaultThrottle, N: 1000 + n.chance.n(100_000), For: time.Second}
	}
	require.NoError(t, n.Inject(f))
}
