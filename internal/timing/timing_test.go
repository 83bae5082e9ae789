package timing_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed3bce33ad/listwatch/internal/timing"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestOrTakesTheRealClock(t *testing.T) {
	t.Parallel()
	mock := clock.NewMock()
	require.Same(t, mock, timing.Or(mock))
	require.WithinDuration(t, time.Now(), timing.Or(nil).Now(), time.Minute)
}

func TestAfterFunc(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		var fired []time.Duration
		timing.AfterFunc(timing.Or(nil), time.Second, func() { fired = append(fired, time.Since(begin)) })
		stop := timing.AfterFunc(timing.Or(nil), 2*time.Second, func() { t.Error("it was stopped") })
		stop()
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, []time.Duration{time.Second}, fired)
	})
}

func TestSleep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		require.NoError(t, timing.Sleep(t.Context(), timing.Or(nil), time.Hour))
		require.Equal(t, time.Hour, time.Since(begin))
		require.NoError(t, timing.Sleep(t.Context(), timing.Or(nil), 0))
		require.NoError(t, timing.Sleep(t.Context(), timing.Or(nil), -time.Second))
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { cancel(why) })
		require.ErrorIs(t, timing.Sleep(ctx, timing.Or(nil), time.Hour), why)
		require.Equal(t, time.Hour+time.Minute, time.Since(begin))
		require.ErrorIs(t, timing.Sleep(ctx, timing.Or(nil), 0), why)
	})
}

func TestAfterFuncByMockClock(t *testing.T) {
	t.Parallel()
	mock := clock.NewMock()
	fired := make(chan struct{})
	timing.AfterFunc(mock, time.Minute, func() { close(fired) })
	mock.Add(time.Minute)
	<-fired
}
