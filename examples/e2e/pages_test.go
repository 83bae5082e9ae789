package e2e_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/seed3bce33ad/listwatch/examples/e2e/churn"
	"github.com/seed3bce33ad/listwatch/examples/e2e/pair"
	"github.com/seed3bce33ad/listwatch/reflector"
)

// between does something before the first requests for further pages.
type between struct {
	http.RoundTripper
	left int
	do   func()
}

// RoundTrip is called by the library's one list at a time.
func (b *between) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.left > 0 && r.URL.Query().Has("continue") {
		b.left--
		b.do()
	}
	return b.RoundTripper.RoundTrip(r)
}

// CloseIdleConnections lets what is wrapped be closed.
func (b *between) CloseIdleConnections() {
	b.RoundTripper.(interface{ CloseIdleConnections() }).CloseIdleConnections()
}

// expiredPages lets the state that a list in pages shows be compacted between two of its pages.
// Only the library's side of the pair meets that.
func (r *rig) expiredPages(t *testing.T) {
	const name = "pages that expire (listwatch alone)"
	require.True(t, t.Run(name, func(t *testing.T) {
		r.writer.Run(r.ctx, 4, 200, churn.ConfigMaps) // several pages
		one := *r
		p := start[*corev1.ConfigMap](t, r, &pair.Spec{Name: "pages", Kind: churn.ConfigMaps, Page: 7}, pair.Tuning{
			Reflector: reflector.Options{Relist: -1},
			Wrap: func(next http.RoundTripper) http.RoundTripper {
				return &between{RoundTripper: next, left: 1, do: func() {
					r.writer.Run(r.ctx, 1, 10, churn.ConfigMaps)
					if err := r.cluster.Compact(r.ctx); err != nil {
						t.Error(err)
					}
					if err := r.cluster.APIServer.Kill(); err != nil { // it remembers what etcd has forgotten
						t.Error(err)
					}
					if err := r.cluster.APIServer.Start(r.ctx); err != nil {
						t.Error(err)
					}
				}}
			},
		}, pair.Typed)
		one.pairs = []*pair.Pair{p}
		one.observe(t, name, func(t *testing.T, x *row) time.Time {
			require.NoError(t, p.Ours.Synced(r.ctx))
			require.NotZero(t, p.Ours.Counts().Expired, "no token has expired")
			return time.Now()
		})
	}))
}
