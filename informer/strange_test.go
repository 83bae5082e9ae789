package informer_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/reflector"
)

// Scenario 134. A server without history begins each watch anew with all that exists, whatever
// version is asked for: what was deleted between two watches is not among it. Each time anew.
func TestServerThatBeginsEachWatchAnew(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newServer(fakes.Options[*object]{})
		through := around(s)
		through.InitialEvents = false
		through.WatchFunc = func(ctx context.Context, o listwatch.WatchOptions, each watched) error {
			o.ResourceVersion, o.InitialEvents = "", true
			return s.Watch(ctx, o, func(events ...listwatch.Event[*object]) error {
				var kept []listwatch.Event[*object]
				for _, e := range events {
					if e.Type == listwatch.Added {
						e.ResourceVersion = e.Object.ResourceVersion
					}
					if e.Type != listwatch.Synced {
						kept = append(kept, e)
					}
				}
				return each(kept...)
			})
		}
		var heard []error
		r := rigOf(t, s, through, informer.Options{OnError: func(err error) { heard = append(heard, err) }})
		recorder := &fakes.Recorder[*object]{}
		r.handle(recorder.Handle, informer.HandlerOptions{})
		r.put("a", "1")
		r.put("b", "1")
		r.start().sync()
		for n := range 5 {
			s.Pause()
			r.drop("b")
			s.Cut(nil)
			s.Resume()
			pass(2 * time.Minute)
			r.equal()
			require.Equal(t, uint64(n+1), r.Health().Drift)
			r.put("b", "again")
			pass(time.Second)
			r.equal()
		}
		recorder.Check(t)
		heard = slices.DeleteFunc(heard, func(err error) bool { return !errors.Is(err, listwatch.ErrProtocol) })
		require.Len(t, heard, 10, "once at each position: a watch is cut, and the next one contradicted")
	})
}

// Events without a position are repeated by every watch that follows. The store equals the server all
// the same, and nothing is taken for exact.
func TestEventsWithoutPosition(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newServer(fakes.Options[*object]{BookmarkEvery: -1})
		through := around(s)
		through.InitialEvents = false
		through.WatchFunc = func(ctx context.Context, o listwatch.WatchOptions, each watched) error {
			return s.Watch(ctx, o, func(events ...listwatch.Event[*object]) error {
				for i := range events {
					events[i].ResourceVersion = ""
				}
				return each(events...)
			})
		}
		r := rigOf(t, s, through, informer.Options{})
		recorder := &fakes.Recorder[*object]{}
		r.handle(recorder.Handle, informer.HandlerOptions{})
		r.put("a", "1")
		r.put("b", "1")
		r.start().sync()
		position := r.Health().Version
		for n := range 5 {
			r.put("a", fmt.Sprint(n))
			r.drop("b")
			r.put("b", fmt.Sprint(n))
			s.Cut(nil)
			pass(10 * time.Minute)
			r.equal()
			require.Empty(t, r.Indexer().Version())
			require.Equal(t, position, r.Health().Version)
		}
		lists := r.Health().Source.Lists
		require.NoError(t, s.Compact(s.Version()))
		s.Cut(nil)
		pass(10 * time.Minute)
		r.equal()
		require.Equal(t, s.Version(), r.Indexer().Version(), "the list has one")
		require.Equal(t, lists+1, r.Health().Source.Lists)
	})
}

// unordered hides the order of the versions: they can be told apart, and that is all.
func unordered(s *server) source {
	const mark = "v"
	show := func(o *object) *object {
		c := *o
		c.ResourceVersion = mark + c.ResourceVersion
		return &c
	}
	plain := func(version string) string { return strings.TrimPrefix(version, mark) }
	return source{
		InitialEvents: true,
		ListFunc: func(ctx context.Context, o listwatch.ListOptions, each listed) (listwatch.ListMeta, error) {
			o.ResourceVersion, o.Known = plain(o.ResourceVersion), nil
			meta, err := s.List(ctx, o, func(objects ...*object) error {
				for i := range objects {
					objects[i] = show(objects[i])
				}
				return each(objects...)
			})
			meta.ResourceVersion = mark + meta.ResourceVersion
			return meta, err
		},
		WatchFunc: func(ctx context.Context, o listwatch.WatchOptions, each watched) error {
			o.ResourceVersion, o.Known = plain(o.ResourceVersion), nil
			return s.Watch(ctx, o, func(events ...listwatch.Event[*object]) error {
				for i := range events {
					if events[i].ResourceVersion != "" {
						events[i].ResourceVersion = mark + events[i].ResourceVersion
					}
					if events[i].Object != nil {
						events[i].Object = show(events[i].Object)
					}
				}
				return each(events...)
			})
		},
	}
}

// Of versions without an order nothing is known but whether they differ. That suffices, whatever
// fails: a loss is found by the list of the hour, and an expired or restored server by its own.
func TestVersionsWithoutOrder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newServer(fakes.Options[*object]{})
		r := rigOf(t, s, unordered(s), informer.Options{})
		recorder := &fakes.Recorder[*object]{}
		r.handle(recorder.Handle, informer.HandlerOptions{})
		equal := func() {
			t.Helper()
			want, got := map[string]string{}, map[string]string{}
			for _, o := range s.Objects() {
				want[o.Name] = "v" + o.ResourceVersion + o.UID + o.Value
			}
			for _, o := range r.Indexer().List() {
				got[o.Name] = o.ResourceVersion + o.UID + o.Value
			}
			require.Equal(t, want, got)
			require.Equal(t, "v"+s.Version(), r.Health().Version)
		}
		r.put("a", "1")
		r.put("b", "1")
		r.start()
		require.NoError(t, r.WaitForSync(t.Context()))
		churn := func(n int) {
			r.put("a", fmt.Sprint(n))
			r.drop("b")
			r.put("b", fmt.Sprint(n))
		}
		churn(1)
		pass(time.Second)
		equal()
		s.Cut(listwatch.ErrUnavailable)
		churn(2)
		pass(10 * time.Second)
		equal()
		s.Pause()
		churn(3)
		require.NoError(t, s.Compact(s.Version()))
		s.Cut(nil)
		s.Resume()
		pass(10 * time.Second)
		equal()
		s.Drop(3)
		churn(4)
		pass(time.Hour + time.Minute)
		equal()
		backup := s.Version()
		churn(5)
		pass(time.Second)
		require.NoError(t, s.Restore(backup))
		pass(time.Hour + time.Minute)
		equal()
		r.stop()
		recorder.Check(t)
	})
}

// Failures of any code and shape, as a status or as an ERROR event, again and again, from every
// request: none is asked round and round, none stops it, and it recovers from each.
func TestFailuresOfAnyShape(t *testing.T) {
	var failures []error
	status := func(code int, kind error) {
		for _, event := range []bool{false, true} {
			failures = append(failures, &listwatch.StatusError{Code: code, Kind: kind, Event: event, RetryAfter: -time.Hour})
		}
	}
	for _, code := range []int{-1, 0, 100, 200, 301, 400, 401, 404, 409, 410, 418, 422, 429, 499, 500, 504, 1000} {
		status(code, nil)
	}
	for _, kind := range []error{listwatch.ErrExpired, listwatch.ErrTooLargeVersion, listwatch.ErrProtocol, listwatch.ErrIdle} {
		status(0, kind)
		status(500, kind)
	}
	failures = append(failures, errors.New("no class"), context.Canceled, context.DeadlineExceeded,
		listwatch.ErrStopped, listwatch.ErrRunning, listwatch.ErrIncomparable, errors.Join(listwatch.ErrExpired, listwatch.ErrForbidden))
	for _, first := range []reflector.FirstList{reflector.FirstStream, reflector.FirstPages, reflector.FirstAny} {
		t.Run(first.String(), func(t *testing.T) {
			t.Parallel()
			for _, failure := range failures {
				synctest.Test(t, func(t *testing.T) { survives(t, failure, first) })
			}
		})
	}
}

func survives(t *testing.T, failure error, first reflector.FirstList) {
	s := newServer(fakes.Options[*object]{})
	through := around(s)
	var works atomic.Bool
	var calls atomic.Int64
	fails := func() error {
		if calls.Add(1); works.Load() {
			return nil
		}
		return failure
	}
	through.ListFunc = func(ctx context.Context, o listwatch.ListOptions, each listed) (listwatch.ListMeta, error) {
		if err := fails(); err != nil {
			return listwatch.ListMeta{}, err
		}
		return s.List(ctx, o, each)
	}
	through.WatchFunc = func(ctx context.Context, o listwatch.WatchOptions, each watched) error {
		if err := fails(); err != nil {
			return err
		}
		return s.Watch(ctx, o, each)
	}
	r := rigOf(t, s, through, informer.Options{Reflector: reflector.Options{FirstList: first}})
	r.put("a", "1")
	r.start()
	for range 2 { // before it is synced, and afterwards
		pass(5 * time.Minute)
		require.Less(t, calls.Load(), int64(40), "%#v", failure)
		works.Store(true)
		pass(2 * time.Minute)
		require.True(t, r.Health().Synced, "%#v", failure)
		require.Equal(t, reflector.Watching, r.Health().Source.State)
		r.equal()
		works.Store(false)
		calls.Store(0)
		r.put("a", "2")
		r.put("b", "2")
		s.Cut(failure)
	}
	r.stop()
}

// A server that asks to wait for ever is asked again after an hour, and the wait is in sight.
func TestEndlessRetryAfter(t *testing.T) {
	for _, verb := range []fakes.Verb{fakes.VerbList, fakes.VerbWatch} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(fakes.Options[*object]{})
			r := newRig(t, s, informer.Options{Reflector: reflector.Options{FirstList: reflector.FirstPages}})
			r.put("a", "1")
			s.Fail(verb, &listwatch.StatusError{Code: 429, Kind: listwatch.ErrTooManyRequests, RetryAfter: 1<<63 - 1})
			r.start()
			pass(time.Minute)
			h := r.Health().Source
			require.Equal(t, reflector.Waiting, h.State)
			require.Equal(t, 59*time.Minute, time.Until(h.NextRetry))
			pass(time.Hour)
			require.Equal(t, reflector.Watching, r.Health().Source.State)
			r.equal()
			r.stop()
		})
	}
}
