package reflector_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/internal/measure"
	"github.com/seed3bce33ad/listwatch/reflector"
)

type (
	rows    = listwatch.Funcs[*row]
	listed  = func(...*row) error
	watched = func(...listwatch.Event[*row]) error
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// options are those of a reflector that first lists, without jitter.
func options() reflector.Options {
	return reflector.Options{
		Name: "rows", Logger: quiet, FirstList: reflector.FirstPages, Rand: func() float64 { return 0 },
	}
}

// answer lists nothing at version 10 and watches until it is cancelled.
func answer() rows {
	return rows{
		ListFunc: func(context.Context, listwatch.ListOptions, listed) (listwatch.ListMeta, error) {
			return listwatch.ListMeta{ResourceVersion: "10"}, nil
		},
		WatchFunc: func(ctx context.Context, _ listwatch.WatchOptions, _ watched) error {
			<-ctx.Done()
			return ctx.Err()
		},
	}
}

// start runs r in the bubble until the returned function is called, which waits for its end.
func start(t *testing.T, r *reflector.Reflector[*row]) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	wait, err := r.Start(ctx)
	require.NoError(t, err)
	synctest.Wait()
	return func() {
		cancel()
		wait()
	}
}

func TestRunsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := reflector.New[*row](answer(), newSink(newJournal()), options())
		require.Equal(t, reflector.Idle, r.Health().State)
		stop := start(t, r)
		require.ErrorIs(t, r.Run(t.Context()), listwatch.ErrRunning)
		require.Equal(t, reflector.Watching, r.Health().State)
		stop()
		require.ErrorIs(t, r.Run(t.Context()), listwatch.ErrStopped)
		require.Equal(t, reflector.Stopped, r.Health().State)
		require.Equal(t, uint64(1), r.Health().Lists)
	})
}

func TestCancelledBeforeRunNeverLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := reflector.New[*row](rows{}, newSink(newJournal()), reflector.Options{Logger: quiet})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.NoError(t, r.Run(ctx))
		require.Zero(t, r.Health().Lists)
		require.ErrorIs(t, r.Run(t.Context()), listwatch.ErrStopped)
	})
}

func TestBadOptionsAreTold(t *testing.T) {
	o := reflector.Options{
		Name: "rows", FirstList: 9, PageSize: -1, WatchTimeout: -1, WatchJitter: -1, WatchSlack: -1,
		BackoffBase: 2, BackoffMax: 1, BackoffReset: -1, Grace: -1,
	}
	var told string
	func() {
		defer func() { told = recover().(string) }()
		reflector.New[*row](nil, nil, o)
	}()
	for _, part := range []string{
		"reflector rows", "FirstList", "PageSize", "WatchTimeout", "WatchJitter", "WatchSlack", "BackoffMax", "BackoffReset", "Grace", "source and sink",
	} {
		require.Contains(t, told, part)
	}
	require.Equal(t, "FirstStream FirstPages FirstAny FirstList(9)", fmt.Sprint(
		reflector.FirstStream, " ", reflector.FirstPages, " ", reflector.FirstAny, " ", reflector.FirstList(9)))
	text, err := reflector.Watching.MarshalText()
	require.NoError(t, err)
	require.Equal(t, "Watching", string(text))
}

// advance lets virtual time pass.
func advance(d time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	<-ctx.Done()
	synctest.Wait()
}

// Scenario 25. All waiting is by the injected clock.
func TestInjectedClockDrivesRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mock := clock.NewMock()
		calls := 0
		source := answer()
		plain := source.ListFunc
		source.ListFunc = func(ctx context.Context, o listwatch.ListOptions, each listed) (listwatch.ListMeta, error) {
			if calls++; calls == 1 {
				return listwatch.ListMeta{}, listwatch.ErrUnavailable
			}
			return plain(ctx, o, each)
		}
		o := options()
		o.Clock = mock
		r := reflector.New[*row](source, newSink(newJournal()), o)
		stop := start(t, r)
		require.Equal(t, reflector.Waiting, r.Health().State)
		require.Equal(t, mock.Now().Add(800*time.Millisecond), r.Health().NextRetry)
		advance(time.Hour)
		require.Equal(t, 1, calls, "real time must not count")
		mock.Add(799 * time.Millisecond)
		synctest.Wait()
		require.Equal(t, 1, calls)
		mock.Add(time.Millisecond)
		synctest.Wait()
		require.Equal(t, 2, calls)
		require.Equal(t, reflector.Watching, r.Health().State)
		stop()
	})
}

// Scenario 55. Run called from OnError is refused, and there is one watch at a time.
func TestRunFromOnErrorIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		active, most := 0, 0
		source := answer()
		source.WatchFunc = func(ctx context.Context, _ listwatch.WatchOptions, _ watched) error {
			mu.Lock()
			active++
			most = max(most, active)
			mu.Unlock()
			defer func() {
				mu.Lock()
				active--
				mu.Unlock()
			}()
			return listwatch.ErrUnavailable
		}
		var r *reflector.Reflector[*row]
		var again []error
		o := options()
		o.OnError = func(error) { again = append(again, r.Run(t.Context())) }
		r = reflector.New[*row](source, newSink(newJournal()), o)
		stop := start(t, r)
		advance(10 * time.Second)
		stop()
		require.Len(t, again, 4)
		for _, err := range again {
			require.ErrorIs(t, err, listwatch.ErrRunning)
		}
		require.Equal(t, 1, most)
	})
}

// Scenario 56. During a relist by slow pages the sink never holds less than before.
func TestRelistNeverEmptiesTheSink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		watches := 0
		source := answer()
		source.ListFunc = func(_ context.Context, o listwatch.ListOptions, each listed) (listwatch.ListMeta, error) {
			var from int
			if o.Continue != "" {
				if _, err := fmt.Sscan(o.Continue, &from); err != nil {
					return listwatch.ListMeta{}, err
				}
			}
			advance(time.Second)
			for i := from; i < from+100; i++ {
				if err := each(newRow(fmt.Sprintf("r%04d", i), "5")); err != nil {
					return listwatch.ListMeta{}, err
				}
			}
			meta := listwatch.ListMeta{ResourceVersion: "10"}
			if from < 900 {
				meta.Continue = fmt.Sprint(from + 100)
			}
			return meta, nil
		}
		watch := source.WatchFunc
		source.WatchFunc = func(ctx context.Context, o listwatch.WatchOptions, each watched) error {
			if watches++; watches == 1 {
				return listwatch.ErrExpired
			}
			return watch(ctx, o, each)
		}
		o := options()
		o.PageSize = 100
		s := newSink(newJournal())
		counts := map[int]int{}
		r := reflector.New[*row](source, s, o)
		ctx, cancel := context.WithCancel(t.Context())
		wait, err := r.Start(ctx)
		require.NoError(t, err)
		advance(10500 * time.Millisecond)
		require.True(t, r.Health().Synced)
		s.mu.Lock()
		s.seen = func(n int) { counts[n]++ }
		s.mu.Unlock()
		advance(30 * time.Second)
		cancel()
		wait()
		require.Equal(t, map[int]int{1000: 1001}, counts)
		require.Equal(t, uint64(2), r.Health().Lists)
	})
}

// Time that the sink takes is not the source's: neither a list nor initial events are given up.
func TestBlockedSinkIsNotADeadServer(t *testing.T) {
	for _, first := range []reflector.FirstList{reflector.FirstPages, reflector.FirstStream} {
		synctest.Test(t, func(t *testing.T) {
			source := answer()
			source.InitialEvents = true
			source.ListFunc = func(_ context.Context, _ listwatch.ListOptions, each listed) (listwatch.ListMeta, error) {
				return listwatch.ListMeta{ResourceVersion: "10"}, each(newRow("a", "1"))
			}
			plain := source.WatchFunc
			source.WatchFunc = func(ctx context.Context, o listwatch.WatchOptions, each watched) error {
				if o.InitialEvents {
					if err := each(listwatch.Event[*row]{Type: listwatch.Added, Object: newRow("a", "1")}); err != nil {
						return err
					}
					if err := each(listwatch.Event[*row]{Type: listwatch.Synced, ResourceVersion: "10"}); err != nil {
						return err
					}
				}
				return plain(ctx, o, each)
			}
			s := newSink(newJournal())
			s.before = func(ctx context.Context) error {
				advance(10 * time.Minute)
				return ctx.Err()
			}
			o := options()
			o.FirstList = first
			r := reflector.New[*row](source, s, o)
			ctx, cancel := context.WithCancel(t.Context())
			wait, err := r.Start(ctx)
			require.NoError(t, err)
			advance(10*time.Minute + time.Second)
			h := r.Health()
			require.True(t, h.Synced)
			require.Zero(t, h.Failures)
			require.Equal(t, uint64(1), h.Lists)
			cancel()
			wait()
		})
	}
}

// Idle costs: one goroutine beside the caller of Run, the one inside Watch.
func TestIdleCostsOneGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := measure.Goroutines()
		stop := start(t, reflector.New[*row](answer(), newSink(newJournal()), options()))
		require.Equal(t, before+1, measure.Goroutines())
		stop()
	})
}
