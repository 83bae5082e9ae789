package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/fakes/conformance"
	"github.com/seed3bce33ad/listwatch/internal/worker"
)

type (
	object = *fakes.Object
	server = *fakes.Source[object]
	funcs  = listwatch.Funcs[object]
)

// probe is a test that only notes what a case reports.
type probe struct {
	*testing.T
	mu     sync.Mutex
	faults []string
}

func (p *probe) Errorf(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = append(p.faults, fmt.Sprintf(format, args...))
}

func (p *probe) FailNow() {
	p.Errorf("the case was ended")
	runtime.Goexit()
}

// faultsOf returns what a case reports of a source.
func faultsOf(t *testing.T, c conformance.Case) (faults []string) {
	synctest.Test(t, func(t *testing.T) {
		p := &probe{T: t}
		var group worker.Group
		group.Go(func() { c.Run(p) })
		group.Wait()
		faults = p.faults
	})
	return faults
}

// listed changes what a list returns.
func listed(s server, change func(o listwatch.ListOptions, m *listwatch.ListMeta)) funcs {
	return funcs{InitialEvents: true, WatchFunc: s.Watch, ListFunc: func(ctx context.Context, o listwatch.ListOptions, each func(...object) error) (listwatch.ListMeta, error) {
		m, err := s.List(ctx, o, each)
		change(o, &m)
		return m, err
	}}
}

// asked changes what a list is asked.
func asked(s server, change func(o *listwatch.ListOptions)) funcs {
	return funcs{InitialEvents: true, WatchFunc: s.Watch, ListFunc: func(ctx context.Context, o listwatch.ListOptions, each func(...object) error) (listwatch.ListMeta, error) {
		change(&o)
		return s.List(ctx, o, each)
	}}
}

// delivered changes how a list delivers.
func delivered(s server, deliver func(o listwatch.ListOptions, each func(...object) error, objects []object) error) funcs {
	return funcs{InitialEvents: true, WatchFunc: s.Watch, ListFunc: func(ctx context.Context, o listwatch.ListOptions, each func(...object) error) (listwatch.ListMeta, error) {
		return s.List(ctx, o, func(objects ...object) error { return deliver(o, each, objects) })
	}}
}

// begun changes what a watch is asked.
func begun(s server, change func(ctx *context.Context, o *listwatch.WatchOptions)) funcs {
	return funcs{InitialEvents: true, ListFunc: s.List, WatchFunc: func(ctx context.Context, o listwatch.WatchOptions, each func(...listwatch.Event[object]) error) error {
		change(&ctx, &o)
		return s.Watch(ctx, o, each)
	}}
}

// streamed changes how a watch delivers.
func streamed(s server, deliver func(each func(...listwatch.Event[object]) error, events []listwatch.Event[object]) error) funcs {
	return funcs{InitialEvents: true, ListFunc: s.List, WatchFunc: func(ctx context.Context, o listwatch.WatchOptions, each func(...listwatch.Event[object]) error) error {
		return s.Watch(ctx, o, func(events ...listwatch.Event[object]) error { return deliver(each, events) })
	}}
}

// one changes each event of a watch on its way; false leaves it out.
func one(s server, change func(e *listwatch.Event[object]) bool) funcs {
	return streamed(s, func(each func(...listwatch.Event[object]) error, events []listwatch.Event[object]) error {
		var kept []listwatch.Event[object]
		for _, e := range events {
			if change(&e) {
				kept = append(kept, e)
			}
		}
		return each(kept...)
	})
}

// unmoved takes the position from an event that is no mark.
func unmoved(e *listwatch.Event[object]) bool {
	if e.Type != listwatch.Bookmark && e.Type != listwatch.Synced {
		e.ResourceVersion = ""
	}
	return true
}

// broken are sources that break one rule each, and the case that must find it.
var broken = []struct {
	name, found, says string
	wrap              func(server) funcs
}{
	{"list without version", "ListEmpty", `the version of a list is ""`, func(s server) funcs {
		return listed(s, func(_ listwatch.ListOptions, m *listwatch.ListMeta) { m.ResourceVersion = "" })
	}},
	{"list at version 0", "ListEmpty", `the version of a list is "0"`, func(s server) funcs {
		return listed(s, func(_ listwatch.ListOptions, m *listwatch.ListMeta) { m.ResourceVersion = "0" })
	}},
	{"list loses an object", "ListAll", "list: got", func(s server) funcs {
		return delivered(s, func(_ listwatch.ListOptions, each func(...object) error, o []object) error { return each(o[1:]...) })
	}},
	{"list version older than objects", "ListAll", "the list as a whole 1", func(s server) funcs {
		return listed(s, func(_ listwatch.ListOptions, m *listwatch.ListMeta) { m.ResourceVersion = "1" })
	}},
	{"objects shared", "ListGivesAway", "gave the same object away", func(s server) funcs {
		shared := map[string]object{}
		return delivered(s, func(_ listwatch.ListOptions, each func(...object) error, objects []object) error {
			for i, o := range objects {
				if shared[o.ResourceVersion] == nil {
					shared[o.ResourceVersion] = o
				}
				objects[i] = shared[o.ResourceVersion]
			}
			return each(objects...)
		})
	}},
	{"one known, all left out", "ListKnown", "list with Known: got", func(s server) funcs {
		return delivered(s, func(o listwatch.ListOptions, each func(...object) error, objects []object) error {
			if o.Known != nil {
				return nil
			}
			return each(objects...)
		})
	}},
	{"known asked for another version", "ListKnown", "Known was asked for", func(s server) funcs {
		return asked(s, func(o *listwatch.ListOptions) {
			if known := o.Known; known != nil {
				o.Known = func(h listwatch.Head) bool { h.ResourceVersion += "0"; return known(h) }
			}
		})
	}},
	{"token lost", "ListPages", "pages of 1: got", func(s server) funcs {
		return listed(s, func(_ listwatch.ListOptions, m *listwatch.ListMeta) { m.Continue = "" })
	}},
	{"token lost on a further page", "ListPagesOfOneState", "pages with writes between: got", func(s server) funcs {
		return asked(s, func(o *listwatch.ListOptions) { o.Continue = "" })
	}},
	{"pages never end", "ListPages", "do not end", func(s server) funcs {
		return asked(s, func(o *listwatch.ListOptions) { o.Continue = "" })
	}},
	{"wrong remaining", "ListPages", "Remaining is 9", func(s server) funcs {
		return listed(s, func(_ listwatch.ListOptions, m *listwatch.ListMeta) { m.Remaining = 9 })
	}},
	{"stale answer", "ListNotOlder", "list not older than the last write: got", func(s server) funcs {
		return asked(s, func(o *listwatch.ListOptions) {
			if o.Match == listwatch.MatchNotOlder {
				o.Match, o.ResourceVersion = listwatch.MatchExact, "1"
			}
		})
	}},
	{"exact is latest", "ListExact", "list of an exact version: got", func(s server) funcs {
		return asked(s, func(o *listwatch.ListOptions) { o.Match = listwatch.MatchLatest })
	}},
	{"future is latest", "ListFromTheFuture", "list of a version from the future", func(s server) funcs {
		return asked(s, func(o *listwatch.ListOptions) { o.Match = listwatch.MatchLatest })
	}},
	{"list swallows errors", "ListErrorFromEach", "list whose each fails", func(s server) funcs {
		return delivered(s, func(_ listwatch.ListOptions, each func(...object) error, o []object) error {
			_ = each(o...)
			return nil
		})
	}},
	{"list goes on after an error", "ListErrorFromEach", "each was called 5 times", func(s server) funcs {
		return delivered(s, func(_ listwatch.ListOptions, each func(...object) error, objects []object) (err error) {
			for _, o := range objects {
				err = errors.Join(err, each(o))
			}
			return err
		})
	}},
	{"list ignores its context", "ListCancelled", "context that is done", func(s server) funcs {
		return funcs{WatchFunc: s.Watch, ListFunc: func(_ context.Context, o listwatch.ListOptions, each func(...object) error) (listwatch.ListMeta, error) {
			return s.List(context.Background(), o, each)
		}}
	}},
	{"expired list served", "ListExpired", "list of an expired version", func(s server) funcs {
		return asked(s, func(o *listwatch.ListOptions) { o.Match = listwatch.MatchLatest })
	}},
	{"watch begins now", "WatchReplays", "did not come", func(s server) funcs {
		return begun(s, func(_ *context.Context, o *listwatch.WatchOptions) { o.ResourceVersion = s.Version() })
	}},
	{"watch begins at once too early", "WatchResumesAnywhere", "a watch from", func(s server) funcs {
		return begun(s, func(_ *context.Context, o *listwatch.WatchOptions) { o.ResourceVersion = "1" })
	}},
	{"events without position", "WatchResumesAnywhere", "does not move the position", func(s server) funcs { return one(s, unmoved) }},
	{"deletion without position", "WatchDeleted", `the deletion has position ""`, func(s server) funcs { return one(s, unmoved) }},
	{"updates lost", "WatchFollows", "did not come", func(s server) funcs {
		return one(s, func(e *listwatch.Event[object]) bool { return e.Type != listwatch.Modified })
	}},
	{"deletion at the old version", "WatchDeleted", "which is not newer", func(s server) funcs {
		return one(s, func(e *listwatch.Event[object]) bool {
			if e.Type == listwatch.Deleted {
				e.ResourceVersion = "2"
			}
			return true
		})
	}},
	{"deletion holds the old version", "DeleteVersion", "the deleted object has version 2", func(s server) funcs {
		return one(s, func(e *listwatch.Event[object]) bool {
			if e.Type == listwatch.Deleted {
				e.Object.ResourceVersion = "2"
			}
			return true
		})
	}},
	{"one identity for all", "WatchRecreated", "has identity same", func(s server) funcs {
		return one(s, func(e *listwatch.Event[object]) bool {
			if e.Type != listwatch.Synced && e.Type != listwatch.Bookmark {
				e.Object.UID = "same"
			}
			return true
		})
	}},
	{"an event in two batches", "WatchReplays", "came in two batches", func(s server) funcs {
		return streamed(s, func(each func(...listwatch.Event[object]) error, events []listwatch.Event[object]) error {
			if err := each(events[0]); err != nil {
				return err
			}
			return each(events...)
		})
	}},
	{"position goes back", "WatchReplays", "back to", func(s server) funcs {
		return one(s, func(e *listwatch.Event[object]) bool {
			if e.Type == listwatch.Modified {
				e.ResourceVersion = "2"
			}
			return true
		})
	}},
	{"drops what a slow reader misses", "WatchSlowReader", "what a slow reader was told", func(s server) funcs {
		return streamed(s, func(each func(...listwatch.Event[object]) error, events []listwatch.Event[object]) error {
			return each(events[max(0, len(events)-50):]...)
		})
	}},
	{"slow reader stuck", "WatchSlowReader", "has stopped telling", func(s server) funcs {
		return one(s, func(e *listwatch.Event[object]) bool { return e.Object.Value != "300" })
	}},
	{"each called twice at once", "WatchFollows", "each was called while it was running", func(s server) funcs {
		return streamed(s, func(each func(...listwatch.Event[object]) error, events []listwatch.Event[object]) error {
			var group worker.Group
			for range 2 {
				group.Go(func() { _ = each(events...) })
			}
			group.Wait()
			return nil
		})
	}},
	{"each called after the end", "WatchErrorFromEach", "after the call had returned", calledLate},
	{"watch swallows errors", "WatchErrorFromEach", "each was called", func(s server) funcs {
		return streamed(s, func(each func(...listwatch.Event[object]) error, events []listwatch.Event[object]) error {
			for _, e := range events {
				_ = each(e)
			}
			return errors.New("another")
		})
	}},
	{"watch ignores its context", "WatchCancelled", "did not return", func(s server) funcs {
		return begun(s, func(ctx *context.Context, _ *listwatch.WatchOptions) { *ctx = context.Background() })
	}},
	{"expired watch goes on", "WatchExpired", "did not return", func(s server) funcs {
		return begun(s, func(_ *context.Context, o *listwatch.WatchOptions) { o.ResourceVersion = s.Version() })
	}},
	{"events before the expiry", "WatchExpired", "a watch from an expired version: got", func(s server) funcs {
		return funcs{ListFunc: s.List, WatchFunc: func(ctx context.Context, o listwatch.WatchOptions, each func(...listwatch.Event[object]) error) error {
			err := s.Watch(ctx, o, each)
			if errors.Is(err, listwatch.ErrExpired) {
				return errors.Join(each(listwatch.Event[object]{Type: listwatch.Added, Object: write(conformance.State{}), ResourceVersion: "2"}), err)
			}
			return err
		}}
	}},
	{"bookmark from the future", "WatchBookmark", "did not come", func(s server) funcs {
		return one(s, func(e *listwatch.Event[object]) bool {
			if e.Type == listwatch.Bookmark {
				e.ResourceVersion = "9"
			}
			return true
		})
	}},
	{"bookmark without position", "WatchBookmark", "has no position", func(s server) funcs {
		return one(s, func(e *listwatch.Event[object]) bool {
			if e.Type == listwatch.Bookmark {
				e.ResourceVersion = ""
			}
			return true
		})
	}},
	{"initial events never end", "InitialEvents", "has stopped telling", func(s server) funcs {
		return one(s, func(e *listwatch.Event[object]) bool { return e.Type != listwatch.Synced })
	}},
	{"initial events end in an error", "InitialEvents", "ended before Synced", func(s server) funcs {
		return funcs{InitialEvents: true, ListFunc: s.List, WatchFunc: func(context.Context, listwatch.WatchOptions, func(...listwatch.Event[object]) error) error {
			return fakes.Status(500, "")
		}}
	}},
	{"initial events are modifications", "InitialEvents", "an initial event is Modified", func(s server) funcs {
		return one(s, func(e *listwatch.Event[object]) bool {
			if e.Type == listwatch.Added {
				e.Type = listwatch.Modified
			}
			return true
		})
	}},
	{"initial events without what is known", "InitialEventsKnown", "initial events with Known: got", func(s server) funcs {
		return one(s, func(e *listwatch.Event[object]) bool { return e.Type != listwatch.Added })
	}},
	{"an event too many", "InitialEventsEmpty", "what follows: got", func(s server) funcs {
		return streamed(s, func(each func(...listwatch.Event[object]) error, events []listwatch.Event[object]) error {
			return each(append(events, listwatch.Event[object]{Type: listwatch.Modified, Object: write(conformance.State{})})...)
		})
	}},
	{"updates without change told", "UpdateNothing", "a watch of updates without a change: got", func(s server) funcs {
		return streamed(s, func(each func(...listwatch.Event[object]) error, events []listwatch.Event[object]) error {
			again := events[0]
			again.Object, again.ResourceVersion = again.Object.Clone(), ""
			again.Object.Value = "1"
			return each(append([]listwatch.Event[object]{again}, events...)...)
		})
	}},
	{"list out of order", "ListOrder", "the order of a list", func(s server) funcs {
		return delivered(s, func(_ listwatch.ListOptions, each func(...object) error, objects []object) error {
			objects[0], objects[1] = objects[1], objects[0]
			return each(objects...)
		})
	}},
	{"a watch from a list tells what exists", "WatchFromNowhere", "a watch from a list: got", func(s server) funcs {
		return begun(s, func(_ *context.Context, o *listwatch.WatchOptions) { o.ResourceVersion = "" })
	}},
}

func TestIncompleteFixtureIsTold(t *testing.T) {
	faults := faultsOf(t, conformance.Cases(func(conformance.TB) conformance.Fixture[object] {
		return conformance.Fixture[object]{Source: fakes.New(fakes.StampObject, fakes.Options[object]{})}
	})[0])
	require.Len(t, faults, 2)
	for _, name := range []string{"Read", "Create", "Update", "Delete"} {
		require.Contains(t, faults[0], "field "+name+" of the Fixture is required")
	}
	require.NotContains(t, faults[0], "field Source")
}
