package reflector_test

import (
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

// lively watches nothing, with a sign of life each 20 seconds, until it is cancelled.
func lively(ctx context.Context, o listwatch.WatchOptions, each watched) error {
	for ctx.Err() == nil {
		if err := each(listwatch.Event[*row]{Type: listwatch.Bookmark, ResourceVersion: o.ResourceVersion}); err != nil {
			return err
		}
		pause, cancel := context.WithTimeout(ctx, 20*time.Second)
		<-pause.Done()
		cancel()
	}
	return ctx.Err()
}

// lateCompare is a source whose first comparing list ignores its context until it is released, and
// whose first watch expires beside it.
func lateCompare(release <-chan struct{}) rows {
	var lists atomic.Int64
	watches := 0
	source := answer()
	plain := source.ListFunc
	source.ListFunc = func(ctx context.Context, o listwatch.ListOptions, each listed) (listwatch.ListMeta, error) {
		if lists.Add(1) == 2 {
			<-release
			return listwatch.ListMeta{}, context.Cause(ctx)
		}
		return plain(ctx, o, each)
	}
	source.WatchFunc = func(ctx context.Context, o listwatch.WatchOptions, each watched) error {
		if watches++; watches > 1 {
			return lively(ctx, o, each)
		}
		brief, cancel := context.WithTimeout(ctx, 90*time.Second)
		defer cancel()
		_ = lively(brief, o, each)
		return listwatch.ErrExpired
	}
	return source
}

// A comparing list that another list has superseded may end after the next comparing list has begun
// or ended: it is not taken for that one.
func TestSupersededCompareEndsLate(t *testing.T) {
	for _, late := range []time.Duration{2*time.Minute + 20*time.Second, 4 * time.Minute} {
		t.Run(fmt.Sprint(late), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				o := options()
				o.Relist, o.Grace, o.IdleTimeout = time.Minute, time.Hour, -1
				r := reflector.New[*row](lateCompare(release), newSink(newJournal()), o)
				ctx, cancel := context.WithCancel(t.Context())
				wait, err := r.Start(ctx)
				require.NoError(t, err)
				advance(late)
				before := r.Health()
				require.Equal(t, uint64(2), before.Lists)
				close(release)
				advance(10 * time.Minute)
				h := r.Health()
				require.Equal(t, before.Compares+10, h.Compares, "the period goes on")
				require.Zero(t, h.Abandoned)
				require.Equal(t, before.LastErrorTime, h.LastErrorTime, "superseded is no failure: %v", h.LastError)
				cancel()
				wait()
			})
		})
	}
}

// A gap is repaired in time while a superseded comparing list still hangs.
func TestGapBesideSupersededCompare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		source := lateCompare(release)
		watch, watches := source.WatchFunc, 0
		source.WatchFunc = func(ctx context.Context, o listwatch.WatchOptions, each watched) error {
			if watches++; watches == 2 {
				if err := o.Refused(listwatch.Head{Key: listwatch.Key{Name: "a"}, ResourceVersion: "11"}, listwatch.ErrDecode); err != nil {
					return err
				}
				if err := each(listwatch.Event[*row]{Type: listwatch.Bookmark, ResourceVersion: "11"}); err != nil {
					return err
				}
				o.ResourceVersion = "11"
			}
			return watch(ctx, o, each)
		}
		plain := source.ListFunc
		var compares atomic.Int64
		source.ListFunc = func(ctx context.Context, o listwatch.ListOptions, each listed) (listwatch.ListMeta, error) {
			if o.ResourceVersion == "11" {
				compares.Add(1)
				return listwatch.ListMeta{ResourceVersion: "11"}, nil
			}
			return plain(ctx, o, each)
		}
		o := options()
		o.Relist, o.Grace, o.IdleTimeout = 80*time.Second, time.Hour, -1
		r := reflector.New[*row](source, newSink(newJournal()), o)
		ctx, cancel := context.WithCancel(t.Context())
		wait, err := r.Start(ctx)
		require.NoError(t, err)
		advance(100 * time.Second)
		require.Equal(t, uint64(1), r.Health().Gaps)
		require.Equal(t, int64(1), compares.Load(), "the gap of 90 s is repaired a second later")
		close(release)
		cancel()
		wait()
	})
}
