package measure_test

import (
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed3bce33ad/listwatch/internal/measure"
	"github.com/seed3bce33ad/listwatch/internal/worker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSized(t *testing.T) {
	defer func(full bool) { *measure.Full = full }(*measure.Full)
	*measure.Full = false
	require.Equal(t, 1, measure.Sized(1, 2))
	*measure.Full = true
	require.Equal(t, 2, measure.Sized(1, 2))
}

func TestHeld(t *testing.T) {
	const size, slack = 64 << 20, 8 << 20
	before := measure.Held()
	block := make([]byte, size)
	require.InDelta(t, size, measure.Held()-before, slack)
	runtime.KeepAlive(block)
	block = nil
	require.InDelta(t, 0, measure.Held()-before, slack)
}

func TestGoroutines(t *testing.T) {
	require.Panics(t, func() { measure.Goroutines() })
	synctest.Test(t, func(t *testing.T) {
		before := measure.Goroutines()
		stop := make(chan struct{})
		var group worker.Group
		for range 3 {
			group.Go(func() { <-stop })
		}
		synctest.Wait()
		require.Equal(t, before+3, measure.Goroutines())
		close(stop)
		group.Wait()
		synctest.Wait()
		require.Equal(t, before, measure.Goroutines())
	})
}
