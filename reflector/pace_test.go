package reflector_test

import (
	"cmp"
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/reflector"
)

// run runs a reflector in the bubble for a while, and returns its last state.
func run(t *testing.T, source rows, o reflector.Options, d time.Duration) reflector.Health {
	t.Helper()
	r := reflector.New[*row](source, newSink(newJournal()), o)
	ctx, cancel := context.WithCancel(t.Context())
	wait, err := r.Start(ctx)
	require.NoError(t, err)
	advance(d)
	h := r.Health()
	cancel()
	wait()
	return h
}

// Servers that always have something to say, and still may not be asked round and round: what they
// say in no time is no reason to ask again in no time.
func TestNewsInNoTimeIsPaced(t *testing.T) {
	type server struct {
		rows
		calls, version atomic.Int64
	}
	// ask counts, and blocks before a mistake would block the test.
	ask := func(ctx context.Context, s *server) {
		s.version.Add(1)
		if s.calls.Add(1) > 1000 {
			<-ctx.Done()
		}
	}
	moved := func(s *server, t listwatch.EventType) listwatch.Event[*row] {
		version := fmt.Sprint(s.version.Load())
		return listwatch.Event[*row]{Type: t, Object: newRow("a", version), ResourceVersion: version}
	}
	cases := map[string]func(s *server, o listwatch.WatchOptions, each watched) error{
		"a bookmark, then the end": func(s *server, _ listwatch.WatchOptions, each watched) error {
			return each(moved(s, listwatch.Bookmark))
		},
		"an event, then the version is expired": func(s *server, _ listwatch.WatchOptions, each watched) error {
			return cmp.Or(each(moved(s, listwatch.Modified)), listwatch.ErrExpired)
		},
		"an event, then the version is too large": func(s *server, _ listwatch.WatchOptions, each watched) error {
			return cmp.Or(each(moved(s, listwatch.Modified)), listwatch.ErrTooLargeVersion)
		},
		"a loss and an event, then the end": func(s *server, o listwatch.WatchOptions, each watched) error {
			h := listwatch.Head{Key: listwatch.Key{Name: "b"}, ResourceVersion: fmt.Sprint(s.version.Load() + 1)}
			return cmp.Or(o.Refused(h, listwatch.ErrDecode), each(moved(s, listwatch.Modified)))
		},
	}
	for name, watch := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{}
				s.version.Store(10)
				s.ListFunc = func(ctx context.Context, _ listwatch.ListOptions, _ listed) (listwatch.ListMeta, error) {
					ask(ctx, s)
					return listwatch.ListMeta{ResourceVersion: fmt.Sprint(s.version.Load())}, nil
				}
				s.WatchFunc = func(ctx context.Context, o listwatch.WatchOptions, each watched) error {
					ask(ctx, s)
					return watch(s, o, each)
				}
				h := run(t, s.rows, options(), time.Minute)
				require.True(t, h.Synced)
				require.InDelta(t, 14, s.calls.Load(), 6, "requests of a minute")
			})
		})
	}
}

// An event is worth the next request at once: a gateway that ends each answer behind the first
// event delays nothing.
func TestWatchesOfOneEventFollowAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		version := 10
		source := answer()
		source.WatchFunc = func(ctx context.Context, _ listwatch.WatchOptions, each watched) error {
			if version == 30 {
				<-ctx.Done()
				return ctx.Err()
			}
			version++
			v := fmt.Sprint(version)
			return each(listwatch.Event[*row]{Type: listwatch.Modified, Object: newRow("a", v), ResourceVersion: v})
		}
		h := run(t, source, options(), time.Minute)
		require.Equal(t, "30", h.Position)
		require.Equal(t, begin, h.LastEvent)
	})
}

// Pages whose tokens go round in a circle, of whatever length and wherever it is entered, are not
// followed for ever: neither by a list nor by one beside the watch.
func TestCircleOfPages(t *testing.T) {
	for enter := range 4 {
		for length := 1; length < 6; length++ {
			for _, compare := range []bool{false, true} {
				t.Run(fmt.Sprint(enter, length, compare), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { circle(t, enter, length, compare) })
				})
			}
		}
	}
}

func circle(t *testing.T, enter, length int, compare bool) {
	pages, good := 0, compare
	source := answer()
	source.ListFunc = func(_ context.Context, o listwatch.ListOptions, _ listed) (listwatch.ListMeta, error) {
		if o.Limit == 0 || good {
			good = false
			return listwatch.ListMeta{ResourceVersion: "10"}, nil
		}
		next := 0
		if o.Continue != "" {
			_, err := fmt.Sscan(o.Continue, &next)
			require.NoError(t, err)
		}
		if next++; next == enter+length+1 {
			next = enter + 1
		}
		if pages++; pages > 1000 {
			return listwatch.ListMeta{}, listwatch.ErrUnavailable // a circle that was not met
		}
		return listwatch.ListMeta{ResourceVersion: "10", Continue: fmt.Sprint(next)}, nil
	}
	o := options()
	o.PageSize, o.Relist = 3, time.Minute
	var heard []error
	o.OnError = func(err error) { heard = append(heard, err) }
	h := run(t, source, o, 5*time.Minute)
	require.True(t, h.Synced)
	require.Less(t, pages, 2*(3*(enter+length)+3), "of the first list and the first comparing one")
	require.NotEmpty(t, heard)
	for _, err := range heard {
		require.ErrorIs(t, err, listwatch.ErrProtocol)
	}
	require.Less(t, len(heard), 3, "the next list is asked for in one piece: %v", heard)
}
