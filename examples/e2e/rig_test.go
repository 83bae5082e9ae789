package e2e_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/dynamic"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/e2e/churn"
	"github.com/seed3bce33ad/listwatch/examples/e2e/cluster"
	"github.com/seed3bce33ad/listwatch/examples/e2e/pair"
	"github.com/seed3bce33ad/listwatch/examples/e2e/proxy"
)

// patience is how long client-go is waited for. The library is waited for until the phase's own
// limit.
const patience = time.Minute

// rig is a cluster, the pairs that live through all phases, and who writes.
type rig struct {
	ctx     context.Context
	cluster *cluster.Cluster
	front   *proxy.Proxy // what all informers go through; writers don't
	client  dynamic.Interface
	writer  *churn.Writer
	access  pair.Access
	pairs   []*pair.Pair
	fence   *atomic.Int64 // the last number that was used
	limit   time.Duration // for the library to recover
	report  *report
}

// programs returns the programs of a cluster, and builds those that are not there.
func programs(ctx context.Context, t *testing.T) cluster.Binaries {
	bin := os.Getenv("E2E_BIN")
	if bin == "" {
		cache, err := os.UserCacheDir()
		require.NoError(t, err)
		bin = filepath.Join(cache, "listwatch-e2e")
	}
	require.NoError(t, os.MkdirAll(bin, 0o755))
	began := time.Now()
	b, err := cluster.Build(ctx, ".", bin, t.Output())
	require.NoError(t, err)
	t.Logf("programs in %s after %s", bin, time.Since(began).Round(time.Second))
	return b
}

// newRig builds what is to be built, starts a cluster, and writes what pairs need.
func newRig(ctx context.Context, t *testing.T) *rig {
	b := programs(ctx, t)
	dir := t.ArtifactDir()
	c, err := cluster.Start(ctx, b, dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Stop()) })
	client, err := dynamic.NewForConfig(c.Admin())
	require.NoError(t, err)
	front, err := proxy.Listen(c.Address())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, front.Close()) })
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-seed %d", seed)
	r := &rig{
		ctx: ctx, cluster: c, front: front, client: client, limit: 2 * time.Minute, fence: new(atomic.Int64),
		writer: &churn.Writer{Client: client, Names: 40, Seed: seed},
		access: pair.Access{Address: front.Addr(), CAFile: c.CAFile(), TokenFile: filepath.Join(dir, "token")},
		report: &report{head: []string{fmt.Sprintf("kube-apiserver %s, etcd %s", b.Kubernetes, b.EtcdVersion)}},
	}
	r.populate(t)
	return r
}

// kinds are what is written by default.
var kinds = []*churn.Kind{churn.ConfigMaps, churn.ConfigMaps, churn.Pods, churn.Nodes, churn.Deployments, churn.Widgets}

// during runs f while objects are written, and returns when the last write has ended.
func (r *rig) during(f func()) {
	ctx, cancel := context.WithCancel(r.ctx)
	var writing sync.WaitGroup
	writing.Go(func() { r.writer.Run(ctx, 6, 1<<40, kinds...) })
	defer writing.Wait()
	defer cancel()
	f()
}

// hold is how long a fault lasts: it is the time that passes which is the fault.
func (r *rig) hold(d time.Duration) {
	select {
	case <-r.ctx.Done():
	case <-time.After(d):
	}
}

// phase runs one phase of the standing pairs as a subtest, see observe. The first that fails ends
// the test, since the next ones begin with what it leaves.
func (r *rig) phase(t *testing.T, name string, f func(t *testing.T, x *row) time.Time) {
	require.True(t, t.Run(name, func(t *testing.T) { r.observe(t, name, f) }))
}

// observe lets f make a fault and return when it was over; then all pairs must become equal to
// the server. What they did meanwhile is a row of the report.
func (r *rig) observe(t *testing.T, name string, f func(t *testing.T, x *row) time.Time) {
	var ours, theirs []pair.Side
	for _, p := range r.pairs {
		ours, theirs = append(ours, p.Ours), append(theirs, p.Theirs)
	}
	x := &row{name: name}
	r.report.add(x)
	oursBefore, theirsBefore := sum(ours), sum(theirs)
	writes, failed := r.writer.Writes(), r.writer.Failed.Load()
	over := f(t, x)
	r.settle(t, x, over)
	x.writes, x.failed = r.writer.Writes()-writes, r.writer.Failed.Load()-failed
	x.ours, x.theirs = minus(sum(ours), oursBefore), minus(sum(theirs), theirsBefore)
	require.Zero(t, x.ours.Drift, "the watch has missed something")
	require.Zero(t, x.ours.Gaps)
	require.Zero(t, x.ours.Refused)
}

// settle writes fences, waits until both sides have seen them, and compares. The library must be
// equal within the limit; what client-go lacks is noted.
func (r *rig) settle(t *testing.T, x *row, over time.Time) {
	n := r.fence.Add(1)
	byKind := map[*churn.Kind]bool{}
	for _, p := range r.pairs {
		byKind[p.Spec.Kind] = true
	}
	for k := range byKind {
		require.NoError(t, r.writer.Fence(r.ctx, k, n))
	}
	late := r.await(over, n, &x.recovered)
	truth := map[*churn.Kind]map[listwatch.Key]pair.Body{}
	for k := range byKind {
		all, err := pair.Truth(r.ctx, r.client, r.cluster.EtcdClient(), k)
		require.NoError(t, err)
		truth[k] = all
	}
	require.Empty(t, late)
	for _, p := range r.pairs {
		want := p.Spec.Select(truth[p.Spec.Kind])
		got, err := p.Ours.Bodies()
		require.NoError(t, err)
		require.NoError(t, pair.Diff(want, got), p.Spec.Name)
		require.NoError(t, p.Fault())
		got, err = p.Theirs.Bodies()
		require.NoError(t, err)
		if err := pair.Diff(want, got); err != nil {
			x.recovered[1].wrong = append(x.recovered[1].wrong, p.Spec.Name)
		}
	}
	slices.Sort(x.recovered[1].wrong)
	t.Logf("recovered: listwatch %s, client-go %s", x.recovered[0], x.recovered[1])
}

// await waits for the fences numbered n on both sides, and returns what the library's lack.
func (r *rig) await(over time.Time, n int64, out *[2]recovery) (late []error) {
	out[0].took, out[1].took = map[string]time.Duration{}, map[string]time.Duration{}
	var mu sync.Mutex // guards out and late
	var all sync.WaitGroup
	for _, p := range r.pairs {
		for i, side := range []pair.Side{p.Ours, p.Theirs} {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(r.ctx, []time.Duration{r.limit, patience}[i])
				defer cancel()
				err := side.Wait(ctx, n)
				mu.Lock()
				defer mu.Unlock()
				out[i].took[p.Spec.Name] = time.Since(over)
				if err != nil {
					out[i].missing = append(out[i].missing, p.Spec.Name)
				}
				if err != nil && i == 0 {
					late = append(late, err)
				}
			})
		}
	}
	all.Wait()
	slices.Sort(out[1].missing)
	return late
}
