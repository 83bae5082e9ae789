package e2e_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seed3bce33ad/listwatch/examples/e2e/pair"
)

func (r *rig) churn(*testing.T, *row) time.Time {
	r.writer.Run(r.ctx, 6, 5000, kinds...)
	return time.Now()
}

// quiet lets periodic lists pass over what does not change: nobody must be told anything.
func (r *rig) quiet(t *testing.T, _ *row) time.Time {
	count := func() (c pair.Counts) {
		for _, p := range r.pairs {
			ours := p.Ours.Counts()
			c.Events, c.Lists = c.Events+ours.Events, c.Lists+ours.Lists+ours.Compares
		}
		return c
	}
	before := count()
	r.hold(11 * time.Second)
	after := count()
	require.Equal(t, before.Events, after.Events)
	require.GreaterOrEqual(t, after.Lists-before.Lists, int64(len(r.pairs)))
	return time.Now()
}

// compaction lets the server lose the history that informers would go on from: while they are
// cut off, etcd is compacted, and the API server's own memory of it ends with the process.
func (r *rig) compaction(t *testing.T, x *row) time.Time {
	before := r.expired()
	r.front.Refuse(true)
	r.writer.Run(r.ctx, 6, 500, kinds...)
	require.NoError(t, r.cluster.Compact(r.ctx))
	require.NoError(t, r.cluster.APIServer.Kill())
	require.NoError(t, r.cluster.APIServer.Start(r.ctx))
	r.front.Refuse(false)
	over := time.Now()
	t.Cleanup(func() { require.NotZero(t, r.expired()-before, "no informer was told 410") })
	return over
}

func (r *rig) expired() int64 {
	n := int64(0)
	for _, p := range r.pairs {
		n += p.Ours.Counts().Expired
	}
	return n
}

func (r *rig) restart(t *testing.T, x *row) (over time.Time) {
	r.during(func() {
		r.hold(2 * time.Second)
		began := time.Now()
		require.NoError(t, r.cluster.APIServer.Term())
		require.NoError(t, r.cluster.APIServer.Start(r.ctx))
		over = time.Now()
		x.away(began)
	})
	return over
}

func (r *rig) kill(t *testing.T, x *row) (over time.Time) {
	r.during(func() {
		for range 2 {
			r.hold(2 * time.Second)
			began := time.Now()
			require.NoError(t, r.cluster.APIServer.Kill())
			require.NoError(t, r.cluster.APIServer.Start(r.ctx))
			over = time.Now()
			x.away(began)
		}
	})
	return over
}

func (r *rig) killEtcd(t *testing.T, x *row) (over time.Time) {
	r.during(func() {
		r.hold(2 * time.Second)
		began := time.Now()
		require.NoError(t, r.cluster.Etcd.Kill())
		r.hold(3 * time.Second)
		require.NoError(t, r.cluster.Etcd.Start(r.ctx))
		require.NoError(t, r.cluster.APIServer.Ready(r.ctx))
		over = time.Now()
		x.away(began)
	})
	return over
}

func (r *rig) freeze(t *testing.T, _ *row) (over time.Time) {
	r.during(func() {
		r.hold(time.Second)
		require.NoError(t, r.cluster.APIServer.Pause())
		r.hold(8 * time.Second)
		require.NoError(t, r.cluster.APIServer.Resume())
		over = time.Now()
	})
	return over
}

func (r *rig) freezeEtcd(t *testing.T, _ *row) (over time.Time) {
	r.during(func() {
		r.hold(time.Second)
		require.NoError(t, r.cluster.Etcd.Pause())
		r.hold(5 * time.Second)
		require.NoError(t, r.cluster.Etcd.Resume())
		require.NoError(t, r.cluster.APIServer.Ready(r.ctx))
		over = time.Now()
	})
	return over
}

// rights lets all lists and watches be answered by 403 for a while. Watches that are open already
// are not asked again by a server, so their connections are cut.
func (r *rig) rights(t *testing.T, _ *row) (over time.Time) {
	r.during(func() {
		c := r.kubernetes(t).RbacV1().ClusterRoleBindings()
		require.NoError(t, c.Delete(r.ctx, account, metav1.DeleteOptions{}))
		r.hold(time.Second)
		r.front.Cut()
		r.hold(8 * time.Second)
		r.grant(t)
		over = time.Now()
	})
	require.NotZero(t, r.denied(), "no informer was told 403")
	return over
}

// token revokes the informers' token: they are answered by 401 until they read the new one.
func (r *rig) token(t *testing.T, _ *row) (over time.Time) {
	before := r.denied()
	r.during(func() {
		token := r.newToken(t, "token-1")
		require.NoError(t, r.kubernetes(t).CoreV1().Secrets(home).Delete(r.ctx, "token-0", metav1.DeleteOptions{}))
		r.hold(11 * time.Second) // a server believes a token for 10 s
		r.front.Cut()
		r.hold(5 * time.Second)
		r.useToken(t, token)
		over = time.Now()
	})
	require.NotZero(t, r.denied()-before, "no informer was told 401")
	return over
}

func (r *rig) denied() int64 {
	n := int64(0)
	for _, p := range r.pairs {
		n += p.Ours.Counts().Denied
	}
	return n
}

// redefine deletes the custom kind with all objects, and makes it again after a while.
func (r *rig) redefine(t *testing.T, _ *row) (over time.Time) {
	r.during(func() {
		r.undefine(t)
		r.hold(5 * time.Second)
		r.define(t)
		over = time.Now()
	})
	return over
}

// away notes how long a server was away.
func (x *row) away(since time.Time) {
	x.notes = append(x.notes, fmt.Sprintf("away for %s", time.Since(since).Round(10*time.Millisecond)))
}
