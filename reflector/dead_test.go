package reflector_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/reflector"
)

// Scenarios 135, 136. Lists work and watches don't: they are refused, or end at once, as from a
// version whose expiry is not told, or never say anything. Lists take their place then.
func TestWatchesThatNeverWork(t *testing.T) {
	silent := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	fails := func(err error) func(context.Context) error { return func(context.Context) error { return err } }
	for name, c := range map[string]struct {
		watch  func(ctx context.Context) error
		behind time.Duration // how far the sink may be behind at most
		lists  int           // how many lists there may be in ten hours
	}{
		"ends at once":    {fails(nil), 7 * time.Minute, 130},
		"times out":       {fails(context.DeadlineExceeded), 7 * time.Minute, 130},
		"server error":    {fails(&listwatch.StatusError{Code: 500, Kind: listwatch.ErrUnavailable}), 7 * time.Minute, 130},
		"denied":          {fails(listwatch.ErrForbidden), 61 * time.Minute, 11},
		"not reached":     {fails(listwatch.ErrUnavailable), 61 * time.Minute, 11},
		"busy":            {fails(listwatch.ErrTooManyRequests), 61 * time.Minute, 11},
		"silent":          {silent, 65 * time.Minute, 12},
		"has gone silent": {silent, 125 * time.Minute, 12},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				source := rows{
					ListFunc: func(_ context.Context, o listwatch.ListOptions, each listed) (listwatch.ListMeta, error) {
						version := fmt.Sprint(10 + int(time.Since(begin)/time.Minute))
						if o.Limit == 1 {
							return listwatch.ListMeta{ResourceVersion: version, Continue: "C1"}, nil
						}
						return listwatch.ListMeta{ResourceVersion: version}, each(newRow("a", version))
					},
					WatchFunc: func(ctx context.Context, _ listwatch.WatchOptions, each watched) error {
						if name == "has gone silent" && time.Since(begin) < 50*time.Minute {
							version := fmt.Sprint(10 + int(time.Since(begin)/time.Minute))
							if err := each(listwatch.Event[*row]{Type: listwatch.Bookmark, ResourceVersion: version}); err != nil {
								return err
							}
						}
						return c.watch(ctx)
					},
				}
				s := newSink(newJournal())
				r := reflector.New[*row](source, s, options())
				ctx, cancel := context.WithCancel(t.Context())
				wait, err := r.Start(ctx)
				require.NoError(t, err)
				for range 600 {
					advance(time.Minute)
					var version int
					_, err := fmt.Sscanf(s.cache(), "a@%d", &version)
					require.NoError(t, err)
					require.Less(t, time.Since(begin)-time.Duration(version-10)*time.Minute, c.behind+time.Minute, s.cache())
				}
				require.Less(t, r.Health().Lists, uint64(c.lists))
				cancel()
				wait()
			})
		})
	}
}

// A watch that has shown that it works is left alone by the periodic list, whatever it is that it says;
// one that has said nothing makes room for an ordinary list.
func TestPeriodicListBesideAWatch(t *testing.T) {
	event := func(kind listwatch.EventType, version string) listwatch.Event[*row] {
		return listwatch.Event[*row]{Type: kind, Object: newRow("a", version), ResourceVersion: version}
	}
	for name, c := range map[string]struct {
		says    []listwatch.Event[*row]
		fails   bool // and then it ends
		compare bool
	}{
		"nothing":                     {},
		"an event":                    {says: []listwatch.Event[*row]{event(listwatch.Modified, "11")}, compare: true},
		"a bookmark":                  {says: []listwatch.Event[*row]{event(listwatch.Bookmark, "11")}, compare: true},
		"a bookmark of no news":       {says: []listwatch.Event[*row]{event(listwatch.Bookmark, "10")}, compare: true},
		"an event, and then it fails": {says: []listwatch.Event[*row]{event(listwatch.Modified, "11")}, fails: true, compare: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				watches := 0
				source := answer()
				list, watch := source.ListFunc, source.WatchFunc
				source.ListFunc = func(ctx context.Context, o listwatch.ListOptions, each listed) (listwatch.ListMeta, error) {
					meta, err := list(ctx, o, each)
					if o.ResourceVersion != "" {
						meta.ResourceVersion = o.ResourceVersion
					}
					return meta, err
				}
				source.WatchFunc = func(ctx context.Context, o listwatch.WatchOptions, each watched) error {
					if watches++; watches == 1 && len(c.says) > 0 {
						if err := each(c.says...); err != nil {
							return err
						}
						if c.fails {
							return listwatch.ErrUnavailable
						}
					}
					return watch(ctx, o, each)
				}
				o := options()
				o.WatchTimeout = 3 * time.Hour
				h := run(t, source, o, 61*time.Minute)
				if c.compare {
					require.Equal(t, []uint64{1, 1}, []uint64{h.Lists, h.Compares})
				} else {
					require.Equal(t, []uint64{2, 0}, []uint64{h.Lists, h.Compares})
				}
			})
		})
	}
}

// A watch of a quiet collection says a word a minute. A list that is due more often than that leaves it
// alone; when not even the bookmark has come, a list takes its place.
func TestFrequentListsBesideAQuietWatch(t *testing.T) {
	for name, c := range map[string]struct {
		bookmarks bool
		lists     uint64 // in 11 minutes
	}{
		"with bookmarks": {bookmarks: true, lists: 1},
		"silent":         {lists: 6}, // the first one, and one each two minutes
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				source := answer()
				source.WatchFunc = func(ctx context.Context, _ listwatch.WatchOptions, each watched) error {
					for {
						wait, cancel := context.WithTimeout(ctx, time.Minute)
						<-wait.Done()
						cancel()
						if ctx.Err() != nil {
							return ctx.Err()
						}
						if c.bookmarks {
							if err := each(listwatch.Event[*row]{Type: listwatch.Bookmark, ResourceVersion: "10"}); err != nil {
								return err
							}
						}
					}
				}
				o := options()
				o.Relist, o.WatchTimeout = 5*time.Second, 3*time.Hour
				h := run(t, source, o, 11*time.Minute)
				require.Equal(t, c.lists, h.Lists)
				require.Greater(t, h.Compares, uint64(90))
			})
		})
	}
}

// What a comparing list has seen is left to the watch, so a list after it that is older is a replica
// that is behind no further than it may be, and not the trace of a restored server.
func TestComparingListBringsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []listwatch.Match
		source := answer()
		source.ListFunc = func(_ context.Context, o listwatch.ListOptions, each listed) (listwatch.ListMeta, error) {
			asked = append(asked, o.Match)
			if len(asked) == 2 { // beside the watch, of a replica that is ahead of it
				return listwatch.ListMeta{ResourceVersion: "20"}, each(newRow("a", "20"))
			}
			return listwatch.ListMeta{ResourceVersion: "10"}, nil
		}
		watches := 0
		source.WatchFunc = func(ctx context.Context, _ listwatch.WatchOptions, each watched) error {
			if watches++; watches > 1 {
				<-ctx.Done()
				return ctx.Err()
			}
			if err := each(listwatch.Event[*row]{Type: listwatch.Bookmark, ResourceVersion: "10"}); err != nil {
				return err
			}
			time.Sleep(61 * time.Minute)
			return listwatch.ErrExpired
		}
		o := options()
		o.WatchTimeout = 3 * time.Hour
		h := run(t, source, o, 62*time.Minute)
		require.Equal(t, uint64(1), h.Compares)
		require.Equal(t, []listwatch.Match{listwatch.MatchLatest, listwatch.MatchNotOlder, listwatch.MatchNotOlder}, asked)
	})
}
