package worker_test

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed3bce33ad/listwatch/internal/worker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestWaitWaitsForAll(t *testing.T) {
	t.Parallel()
	var g worker.Group
	g.Wait()
	var n atomic.Int32
	for range 10 {
		g.Go(func() {
			g.Go(func() { n.Add(1) })
			n.Add(1)
		})
	}
	g.Wait()
	require.EqualValues(t, 20, n.Load())
}
