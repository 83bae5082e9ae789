package e2e_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/seed3bce33ad/listwatch/examples/e2e/churn"
	"github.com/seed3bce33ad/listwatch/examples/e2e/pair"
	"github.com/seed3bce33ad/listwatch/examples/e2e/proxy"
	"github.com/seed3bce33ad/listwatch/reflector"
)

// goaway restarts the server so that it closes an HTTP/2 connection, gracefully, at one request
// of fifty, and adds a pair that asks much: its connections show how often that has happened.
func (r *rig) goaway(t *testing.T) {
	const name = "GOAWAY"
	require.True(t, t.Run(name, func(t *testing.T) {
		require.NoError(t, r.cluster.APIServer.Term())
		require.NoError(t, r.cluster.APIServer.Start(r.ctx, "--goaway-chance", "0.02"))
		front, err := proxy.Listen(r.cluster.Address())
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, front.Close()) })
		all := *r
		all.access.Address = front.Addr()
		busy := start[*corev1.ConfigMap](t, &all, &pair.Spec{Name: "busy", Kind: churn.ConfigMaps}, pair.Tuning{
			Reflector: reflector.Options{WatchTimeout: time.Second, Relist: 100 * time.Millisecond},
		}, pair.Typed)
		all.pairs = append(all.pairs[:len(all.pairs):len(all.pairs)], busy)
		all.observe(t, name, func(t *testing.T, x *row) time.Time {
			r.during(func() {
				for end := time.Now().Add(time.Minute); front.Accepted() < 8 && time.Now().Before(end); {
					r.hold(time.Second)
				}
			})
			require.GreaterOrEqual(t, front.Accepted(), int64(8), "no connection was closed")
			x.notes = append(x.notes, fmt.Sprintf("the busy pair had %d connections", front.Accepted()))
			return time.Now()
		})
	}))
}
