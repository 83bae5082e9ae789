package reflector_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/internal/measure"
	"github.com/seed3bce33ad/listwatch/reflector"
)

// Scenario 27. A server that ends each watch at once is asked a few times with growing gaps, is
// told of as unavailable, and costs no goroutine more.
func TestWatchesClosedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []time.Time
		var alive []int
		var heard []error
		source := answer()
		source.WatchFunc = func(context.Context, listwatch.WatchOptions, watched) error {
			asked, alive = append(asked, time.Now()), append(alive, measure.Goroutines())
			advance(5 * time.Millisecond)
			return nil
		}
		o := options()
		o.OnError = func(err error) { heard = append(heard, err) }
		r := reflector.New[*row](source, newSink(newJournal()), o)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		require.NoError(t, r.Run(ctx))
		require.Len(t, asked, 4, "at most 15 are fair")
		for i := 2; i < len(asked); i++ {
			require.Greater(t, asked[i].Sub(asked[i-1]), asked[i-1].Sub(asked[i-2]))
			require.Equal(t, alive[0], alive[i])
		}
		require.Len(t, heard, len(asked))
		for _, err := range heard {
			require.ErrorIs(t, err, listwatch.ErrUnavailable)
		}
		require.Equal(t, uint64(1), r.Health().Lists)
	})
}

// Scenario 35. What is denied for ten minutes is asked for again and again, each answer is told,
// and when it is granted the watch goes on from the last version, without a list.
func TestDeniedForTenMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		denied := []error{
			&listwatch.StatusError{Code: 403, Kind: listwatch.ErrForbidden},
			&listwatch.StatusError{Code: 403, Event: true, Kind: listwatch.ErrForbidden},
			&listwatch.StatusError{Code: 401, Kind: listwatch.ErrUnauthorized},
			&listwatch.StatusError{Code: 429, Kind: listwatch.ErrTooManyRequests},
		}
		var versions []string
		var heard []error
		source := answer()
		plain := source.WatchFunc
		source.WatchFunc = func(ctx context.Context, o listwatch.WatchOptions, each watched) error {
			versions = append(versions, o.ResourceVersion)
			switch {
			case len(versions) == 1:
				return each(listwatch.Event[*row]{Type: listwatch.Added, Object: newRow("a", "11"), ResourceVersion: "11"})
			case time.Since(begin) < 10*time.Minute:
				return denied[len(versions)%len(denied)]
			}
			if err := each(listwatch.Event[*row]{Type: listwatch.Modified, Object: newRow("a", "12"), ResourceVersion: "12"}); err != nil {
				return err
			}
			return plain(ctx, o, each)
		}
		o := options()
		o.OnError = func(err error) { heard = append(heard, err) }
		s := newSink(newJournal())
		r := reflector.New[*row](source, s, o)
		stop := start(t, r)
		advance(10 * time.Minute)
		require.Equal(t, "a@11", s.cache())
		advance(time.Minute)
		require.Equal(t, "a@12", s.cache())
		require.Equal(t, uint64(1), r.Health().Lists)
		require.Equal(t, reflector.Watching, r.Health().State)
		stop()
		require.Len(t, heard, len(versions)-2)
		for i, err := range heard {
			require.ErrorIs(t, err, denied[(i+2)%len(denied)])
			require.Equal(t, "11", versions[i+1])
		}
		require.InDelta(t, 26, len(versions), 4)
	})
}

// Scenario 47. Watches live for 180 to 230 s by default, as chance has it, or for what was set.
func TestLifeOfAWatch(t *testing.T) {
	for name, c := range map[string]struct {
		chance            float64
		timeout, jitter   time.Duration
		want, wantGivenUp time.Duration
	}{
		"default, least": {0, 0, 0, 180 * time.Second, 190 * time.Second},
		"default, half":  {0.5, 0, 0, 205 * time.Second, 215 * time.Second},
		"set":            {0.5, 3 * time.Second, 0, 3 * time.Second, 13 * time.Second},
		"set with both":  {0.5, 3 * time.Second, 4 * time.Second, 5 * time.Second, 15 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var asked, lived time.Duration
				source := answer()
				plain := source.WatchFunc
				source.WatchFunc = func(ctx context.Context, o listwatch.WatchOptions, each watched) error {
					began := time.Now()
					err := plain(ctx, o, each)
					if lived == 0 {
						asked, lived = o.Timeout, time.Since(began)
					}
					return err
				}
				o := options()
				o.Rand = func() float64 { return c.chance }
				o.WatchTimeout, o.WatchJitter = c.timeout, c.jitter
				stop := start(t, reflector.New[*row](source, newSink(newJournal()), o))
				advance(4 * time.Minute)
				stop()
				require.Equal(t, c.want, asked)
				require.Equal(t, c.wantGivenUp, lived)
			})
		})
	}
}
