package reflector_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/reflector"
)

// Scenario 22. A list that ignores its context doesn't hold up Run; what it delivers
// afterwards is refused, and its goroutine ends when the list does.
func TestListThatIgnoresItsContextIsAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var late, refused error
		known := true
		source := answer()
		source.ListFunc = func(_ context.Context, o listwatch.ListOptions, each listed) (listwatch.ListMeta, error) {
			<-release
			late = each(newRow("a", "1"))
			known = o.Known(listwatch.Head{Key: listwatch.Key{Name: "a"}, ResourceVersion: "1"})
			refused = o.Refused(listwatch.Head{}, listwatch.ErrDecode)
			return listwatch.ListMeta{ResourceVersion: "10"}, nil
		}
		var heard []error
		o := options()
		o.OnError = func(err error) { heard = append(heard, err) }
		s := newSink(newJournal())
		r := reflector.New[*row](source, s, o)
		stop := start(t, r)
		began := time.Now()
		stop()
		require.LessOrEqual(t, time.Since(began), 200*time.Millisecond)
		require.Len(t, heard, 1)
		require.ErrorContains(t, heard[0], "ignores its context")
		require.Equal(t, uint64(1), r.Health().Abandoned)
		close(release)
		synctest.Wait()
		require.ErrorIs(t, late, listwatch.ErrStopped)
		require.ErrorIs(t, refused, listwatch.ErrStopped)
		require.False(t, known)
		require.Empty(t, s.cache())
	})
}

// A probe that ignores its context is abandoned like any other call.
func TestProbeThatIgnoresItsContextIsAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		source := answer()
		plain := source.ListFunc
		source.ListFunc = func(ctx context.Context, o listwatch.ListOptions, each listed) (listwatch.ListMeta, error) {
			if o.Limit == 1 {
				<-release
			}
			return plain(ctx, o, each)
		}
		o := options()
		o.WatchTimeout = time.Minute
		r := reflector.New[*row](source, newSink(newJournal()), o)
		stop := start(t, r)
		advance(4 * time.Minute)
		stop()
		require.Equal(t, uint64(1), r.Health().Probes)
		require.Equal(t, uint64(1), r.Health().Abandoned)
		require.Equal(t, uint64(3), r.Health().Watches)
		close(release)
	})
}

// A source that ends the goroutine it is called from (a failing test does) is survived.
func TestGoexitInTheSourceIsSurvived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		source := answer()
		plain := source.ListFunc
		source.ListFunc = func(ctx context.Context, o listwatch.ListOptions, each listed) (listwatch.ListMeta, error) {
			if calls++; calls == 1 {
				runtime.Goexit()
			}
			return plain(ctx, o, each)
		}
		r := reflector.New[*row](source, newSink(newJournal()), options())
		stop := start(t, r)
		advance(time.Second)
		require.True(t, r.Health().Synced)
		require.ErrorIs(t, r.Health().LastError, listwatch.ErrProtocol)
		stop()
	})
}

// Scenarios 30, 52. A pause of 30 s, and one that the server asked for, ends with the context.
func TestStopDuringBackoff(t *testing.T) {
	for name, failure := range map[string]error{
		"refused": listwatch.ErrUnavailable,
		"busy":    &listwatch.StatusError{Code: 429, RetryAfter: 10 * time.Minute, Kind: listwatch.ErrTooManyRequests},
		"busy by an event": &listwatch.StatusError{
			Code: 429, Event: true, RetryAfter: 10 * time.Minute, Kind: listwatch.ErrTooManyRequests,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				source := answer()
				source.WatchFunc = func(context.Context, listwatch.WatchOptions, watched) error { return failure }
				r := reflector.New[*row](source, newSink(newJournal()), options())
				stop := start(t, r)
				advance(90 * time.Second)
				h := r.Health()
				require.Equal(t, reflector.Waiting, h.State)
				require.Greater(t, time.Until(h.NextRetry), 10*time.Second)
				require.ErrorIs(t, failure, h.LastErrorClass)
				began := time.Now()
				stop()
				require.Zero(t, time.Since(began))
			})
		})
	}
}

// Scenario 51. Every watch that began is ended, whichever way: there is nothing to stop but
// the context of the call, which is done when the call has returned.
func TestWatchContextsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var contexts []context.Context
		ends := []func(ctx context.Context, each watched) error{
			func(context.Context, watched) error { return nil },
			func(context.Context, watched) error { return listwatch.ErrUnavailable },
			func(context.Context, watched) error { panic("in the source") },
			func(ctx context.Context, each watched) error { <-ctx.Done(); return nil },
		}
		source := answer()
		source.InitialEvents = true
		source.WatchFunc = func(ctx context.Context, o listwatch.WatchOptions, each watched) error {
			if o.InitialEvents {
				if err := each(listwatch.Event[*row]{Type: listwatch.Synced, ResourceVersion: "10"}); err != nil {
					return err
				}
				require.NoError(t, ctx.Err(), "the hand-over must not end the call")
			}
			contexts = append(contexts, ctx)
			return ends[len(contexts)-1](ctx, each)
		}
		o := options()
		o.FirstList = reflector.FirstStream
		stop := start(t, reflector.New[*row](source, newSink(newJournal()), o))
		advance(time.Minute)
		require.Len(t, contexts, 4)
		for _, ctx := range contexts[:3] {
			require.Error(t, ctx.Err(), "a call that has returned leaves nothing open")
		}
		require.NoError(t, contexts[3].Err())
		stop()
		require.Error(t, contexts[3].Err())
	})
}

// A call that is in the sink when its grace is over is abandoned when the sink returns, so
// that nothing of it overlaps with what follows.
func TestCallInTheSinkIsAbandonedBehindIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		source := answer()
		source.WatchFunc = func(_ context.Context, _ listwatch.WatchOptions, each watched) error {
			_ = each(listwatch.Event[*row]{Type: listwatch.Added, Object: newRow("a", "11"), ResourceVersion: "11"})
			<-release
			return nil
		}
		s := newSink(newJournal())
		entered := make(chan struct{})
		s.before = func(context.Context) error {
			close(entered)
			advance(time.Second)
			return nil
		}
		r := reflector.New[*row](source, s, options())
		ctx, cancel := context.WithCancel(t.Context())
		wait, err := r.Start(ctx)
		require.NoError(t, err)
		<-entered
		began := time.Now()
		cancel()
		wait()
		require.Equal(t, time.Second, time.Since(began))
		require.Equal(t, "a@11", s.cache())
		require.Equal(t, "11", r.Health().Position, "what the sink took counts")
		require.Equal(t, uint64(1), r.Health().Abandoned)
		close(release)
	})
}
