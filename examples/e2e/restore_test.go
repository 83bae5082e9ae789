package e2e_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// restore takes etcd back to a backup: versions go back, and a server is silent on watches from
// its future. Pairs that compare find that out by their next comparing list, the one that never
// does by a probe after two silent watches.
func (r *rig) restore(t *testing.T, x *row) time.Time {
	r.writer.Run(r.ctx, 6, 500, kinds...)
	backup, err := r.cluster.Backup(r.ctx)
	require.NoError(t, err)
	r.writer.Run(r.ctx, 6, 1000, kinds...) // what the restored server does not know
	r.settle(t, &row{}, time.Now())
	for _, p := range r.pairs {
		p.Restored()
	}
	require.NoError(t, r.cluster.Restore(r.ctx, backup))
	over := time.Now()
	r.writer.Run(r.ctx, 6, 100, kinds...)
	t.Cleanup(func() {
		name, took := x.recovered[0].slowest(neverCompares)
		x.notes = append(x.notes, fmt.Sprintf("of those that compare: %s (%s)", took.Round(10*time.Millisecond), name))
		for _, p := range r.pairs {
			require.NotZero(t, p.Ours.Counts().Restores, "%s has not noticed", p.Spec.Name)
		}
	})
	return over
}
