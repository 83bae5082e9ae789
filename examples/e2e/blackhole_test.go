package e2e_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/seed3bce33ad/listwatch/examples/e2e/churn"
	"github.com/seed3bce33ad/listwatch/examples/e2e/pair"
	"github.com/seed3bce33ad/listwatch/examples/e2e/proxy"
	"github.com/seed3bce33ad/listwatch/reflector"
	"github.com/seed3bce33ad/listwatch/reflector/rest"
)

// blackHole lets every connection of an informer lose all bytes and stay open. New ones work.
// Over HTTP/2 a ping finds that out, by default after 45 s on both sides; over HTTP/1.1 nothing
// does but the deadline of a watch, which is made short here.
func (r *rig) blackHole(t *testing.T) {
	for _, c := range []hole{
		{name: "black hole, pings after 2 s", limit: 10 * time.Second, tune: pair.Tuning{
			Rest: rest.Options{PingIdle: 2 * time.Second, PingTimeout: 2 * time.Second},
		}},
		{name: "black hole, defaults", limit: time.Minute},
		{name: "black hole, HTTP/1.1, watches of 20 s", limit: 40 * time.Second, http1: true, tune: pair.Tuning{
			Reflector: reflector.Options{WatchTimeout: 20 * time.Second, WatchSlack: 5 * time.Second, IdleTimeout: 5 * time.Second},
		}},
	} {
		require.True(t, t.Run(c.name, func(t *testing.T) { c.run(t, r) }))
	}
}

type hole struct {
	name  string
	tune  pair.Tuning
	limit time.Duration // for the library to recover
	http1 bool
}

// run runs one pair behind a proxy of its own.
func (c hole) run(t *testing.T, r *rig) {
	front, err := proxy.Listen(r.cluster.Address())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, front.Close()) })
	holed := *r
	holed.limit = c.limit
	holed.access.Address, holed.access.HTTP1 = front.Addr(), c.http1
	p := start[*corev1.ConfigMap](t, &holed, &pair.Spec{Name: "configmaps", Kind: churn.ConfigMaps}, c.tune, pair.Typed)
	holed.pairs = []*pair.Pair{p}
	holed.observe(t, c.name, func(t *testing.T, _ *row) time.Time {
		require.NoError(t, p.Ours.Synced(r.ctx))
		require.NoError(t, p.Theirs.Synced(r.ctx))
		front.Hole()
		over := time.Now()
		r.writer.Run(r.ctx, 2, 200, churn.ConfigMaps)
		return over
	})
}
