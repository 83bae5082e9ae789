package reflector_test

import (
	"context"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/reflector"
)

// stepped is a clock whose time of day can be set, as a wall clock is; its timers don't mind.
type stepped struct {
	clock.Clock
	ahead atomic.Int64
}

func (c *stepped) Now() time.Time                  { return c.Clock.Now().Add(time.Duration(c.ahead.Load())) }
func (c *stepped) Since(t time.Time) time.Duration { return c.Now().Sub(t) }
func (c *stepped) Until(t time.Time) time.Duration { return t.Sub(c.Now()) }

// A list that says nothing is given up in time, also when the clock is set back meanwhile.
func TestListIsGivenUpWhenTheClockGoesBack(t *testing.T) {
	for name, c := range map[string]struct {
		step time.Duration
		want time.Duration
	}{
		"not set":              {0, 60 * time.Second},
		"back by a moment":     {-10 * time.Second, 70 * time.Second},
		"back by an hour":      {-time.Hour, 120 * time.Second},
		"forward by a moment":  {10 * time.Second, 60 * time.Second},
		"forward by ten hours": {10 * time.Hour, 60 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lives := &stepped{Clock: clock.New()}
				begin, gaveUp := time.Now(), time.Duration(0)
				source := answer()
				source.ListFunc = func(ctx context.Context, o listwatch.ListOptions, each listed) (listwatch.ListMeta, error) {
					if gaveUp > 0 {
						return listwatch.ListMeta{ResourceVersion: "10"}, nil
					}
					advance(time.Second)
					lives.ahead.Store(int64(c.step))
					<-ctx.Done()
					gaveUp = time.Since(begin)
					return listwatch.ListMeta{}, ctx.Err()
				}
				o := options()
				o.Clock = lives
				h := run(t, source, o, 5*time.Minute)
				require.True(t, h.Synced)
				require.Equal(t, c.want, gaveUp)
				require.ErrorIs(t, h.LastErrorClass, listwatch.ErrIdle)
			})
		})
	}
}

// Times may have any value: the longest ones mean for ever, not at once.
func TestLongestTimesMeanForEver(t *testing.T) {
	const ever = time.Duration(math.MaxInt64)
	set := map[string]func(o *reflector.Options){
		"timeout":          func(o *reflector.Options) { o.WatchTimeout = ever },
		"timeout and more": func(o *reflector.Options) { o.WatchTimeout, o.WatchJitter, o.WatchSlack = ever, ever, ever },
		"slack":            func(o *reflector.Options) { o.WatchSlack = ever },
		"everything": func(o *reflector.Options) {
			o.WatchTimeout, o.IdleTimeout, o.StreamTimeout, o.Relist, o.Grace = ever, ever, ever, ever, ever
			o.BackoffBase, o.BackoffMax, o.BackoffReset, o.ServerErrorsBeforeList = ever, ever, ever, ever
		},
	}
	for name, set := range set {
		for _, first := range []reflector.FirstList{reflector.FirstStream, reflector.FirstPages} {
			t.Run(name+" "+first.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					source := marked(time.Minute)
					o := options()
					o.FirstList = first
					o.Rand = func() float64 { return 0.999 }
					o.Relist = -1
					set(&o)
					h := run(t, source, o, 100*24*time.Hour)
					require.Equal(t, uint64(1), h.Watches)
					require.Equal(t, uint64(1), h.Lists)
					require.Zero(t, h.Failures, h.LastError)
					require.Equal(t, reflector.Watching, h.State)
				})
			})
		}
	}
}

// marked is a source whose stream of initial events is empty and ends so long after it began.
func marked(after time.Duration) rows {
	source := answer()
	source.InitialEvents = true
	plain := source.WatchFunc
	source.WatchFunc = func(ctx context.Context, o listwatch.WatchOptions, each watched) error {
		if o.InitialEvents {
			// A sign of life each five seconds.
			for end := time.Now().Add(after); time.Now().Before(end); {
				advance(5 * time.Second)
				if err := each(listwatch.Event[*row]{Type: listwatch.Bookmark}); err != nil {
					return err
				}
			}
			if err := each(listwatch.Event[*row]{Type: listwatch.Synced, ResourceVersion: "10"}); err != nil {
				return err
			}
		}
		return plain(ctx, o, each)
	}
	return source
}

// The call that goes on behind the end mark lives until its timeout, counted from the request, and
// the slack; but for the slack in any case.
func TestLifeOfAStream(t *testing.T) {
	for name, c := range map[string]struct{ mark, want time.Duration }{
		"marked early": {time.Minute, 190 * time.Second},
		"marked late":  {170 * time.Second, 190 * time.Second},
		"marked after": {300 * time.Second, 310 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin, lived := time.Now(), time.Duration(0)
				source := marked(c.mark)
				watch := source.WatchFunc
				source.WatchFunc = func(ctx context.Context, o listwatch.WatchOptions, each watched) error {
					err := watch(ctx, o, each)
					if o.InitialEvents {
						lived = time.Since(begin)
					}
					return err
				}
				o := options()
				o.FirstList = reflector.FirstStream
				h := run(t, source, o, 6*time.Minute)
				require.Equal(t, c.want, lived)
				require.Equal(t, uint64(1), h.Lists)
				require.Equal(t, "10", h.Position)
			})
		})
	}
}

// An end mark at version 0, which would ask for any state, is none.
func TestEndMarkNeedsAVersion(t *testing.T) {
	for _, version := range []string{"", "0"} {
		synctest.Test(t, func(t *testing.T) {
			source := answer()
			source.InitialEvents = true
			var versions []string
			plain := source.WatchFunc
			source.WatchFunc = func(ctx context.Context, o listwatch.WatchOptions, each watched) error {
				if o.InitialEvents {
					return each(listwatch.Event[*row]{Type: listwatch.Synced, ResourceVersion: version})
				}
				versions = append(versions, o.ResourceVersion)
				return plain(ctx, o, each)
			}
			o := options()
			o.FirstList = reflector.FirstStream
			h := run(t, source, o, time.Minute)
			require.Equal(t, []string{"10"}, versions, "after three streams without a mark a list follows")
			require.ErrorIs(t, h.LastErrorClass, listwatch.ErrProtocol)
		})
	}
}

// What counts as progress of a list: a page, an object, the question whether one is known, and an
// object that is refused. Without any the list is given up a minute after the last.
func TestProgressOfAList(t *testing.T) {
	head := listwatch.Head{Key: listwatch.Key{Name: "a"}, ResourceVersion: "1"}
	for name, progress := range map[string]func(o listwatch.ListOptions, each listed) error{
		"an object":        func(_ listwatch.ListOptions, each listed) error { return each(newRow("a", "1")) },
		"no object":        func(_ listwatch.ListOptions, each listed) error { return each() },
		"is one known":     func(o listwatch.ListOptions, _ listed) error { o.Known(head); return nil },
		"a refused object": func(o listwatch.ListOptions, _ listed) error { return o.Refused(head, listwatch.ErrDecode) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin, gaveUp := time.Now(), time.Duration(0)
				source := answer()
				source.ListFunc = func(ctx context.Context, o listwatch.ListOptions, each listed) (listwatch.ListMeta, error) {
					if gaveUp > 0 {
						return listwatch.ListMeta{ResourceVersion: "10"}, nil
					}
					for range 5 {
						advance(59 * time.Second)
						if err := progress(o, each); err != nil {
							return listwatch.ListMeta{}, err
						}
					}
					<-ctx.Done()
					gaveUp = time.Since(begin)
					return listwatch.ListMeta{}, ctx.Err()
				}
				h := run(t, source, options(), 10*time.Minute)
				require.True(t, h.Synced)
				require.Equal(t, (5*59+60)*time.Second, gaveUp)
			})
		})
	}
}

// A comparing list begins a period after the last list, up to a tenth sooner by chance.
func TestPeriodOfComparingLists(t *testing.T) {
	for name, c := range map[string]struct {
		relist time.Duration
		chance float64
		want   []time.Duration
	}{
		"default":     {0, 0, []time.Duration{time.Hour, 2 * time.Hour}},
		"with chance": {0, 0.5, []time.Duration{57 * time.Minute, 114 * time.Minute}},
		"set":         {100 * time.Minute, 0.75, []time.Duration{92*time.Minute + 30*time.Second}},
		"never":       {-1, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var at []time.Duration
				begin := time.Now()
				source := answer()
				source.WatchFunc = lively
				plain := source.ListFunc
				source.ListFunc = func(ctx context.Context, o listwatch.ListOptions, each listed) (listwatch.ListMeta, error) {
					if o.ResourceVersion == "10" && o.Limit == 0 {
						at = append(at, time.Since(begin))
					}
					return plain(ctx, o, each)
				}
				o := options()
				o.Relist, o.Rand = c.relist, func() float64 { return c.chance }
				h := run(t, source, o, 2*time.Hour+time.Minute)
				require.Equal(t, c.want, at)
				require.Equal(t, uint64(len(c.want)), h.Compares)
			})
		})
	}
}
