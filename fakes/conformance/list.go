package conformance

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/seed3bce33ad/listwatch"
)

// errOwn is what the suite's own callbacks fail with.
var errOwn = errors.New("the suite's own error")

func listEmpty[T listwatch.Object](r *run[T]) {
	l := r.all()
	r.same("an empty collection", l.states)
	w := r.watch(listwatch.WatchOptions{ResourceVersion: l.meta.ResourceVersion}, nil)
	r.create("a", "1")
	r.told("a watch from the version of an empty collection", w.state(listwatch.Added, "a", "1"),
		r.event(listwatch.Added, "a", "1"))
}

func listAll[T listwatch.Object](r *run[T]) {
	a := r.create("a", "1")
	r.create("b", "1")
	r.create("c", "1")
	b := r.update("b", "2")
	r.delete("c")
	l := r.all()
	r.same("list", l.states, a, b)
	for _, s := range l.states {
		if listwatch.Newer(s.ResourceVersion, l.meta.ResourceVersion) {
			r.Errorf("%s has version %s, the list as a whole %s", s.Key, s.ResourceVersion, l.meta.ResourceVersion)
		}
	}
	for _, o := range l.objects {
		if k, s := listwatch.KeyOf(o), r.Read(o); k != s.Key || o.GetResourceVersion() == "" {
			r.Errorf("object %v says key %v and version %q", s, k, o.GetResourceVersion())
		}
	}
}

// listGivesAway: an object belongs to who got it, so nobody else may have got the same one.
func listGivesAway[T listwatch.Object](r *run[T]) {
	r.create("a", "1")
	one, two := r.all(), r.all()
	if len(one.objects) != 1 || len(two.objects) != 1 {
		r.fatalf("lists of one object have %d and %d", len(one.objects), len(two.objects))
	}
	a, b := reflect.ValueOf(one.objects[0]), reflect.ValueOf(two.objects[0])
	if k := a.Kind(); (k == reflect.Pointer || k == reflect.Map) && a.Pointer() == b.Pointer() {
		r.Errorf("two lists gave the same object away")
	}
}

func listKnown[T listwatch.Object](r *run[T]) {
	a, b := r.create("a", "1"), r.create("b", "1")
	asked := map[listwatch.Key]listwatch.Head{}
	l, err := r.list(listwatch.ListOptions{Known: func(h listwatch.Head) bool {
		asked[h.Key] = h
		return h.Key == a.Key
	}})
	r.must("list with Known", err)
	r.checkAsked(asked, a, b)
	r.sameButKnown("list with Known", l.states, a, b)
}

// checkAsked compares what Known was asked with what is there.
func (r *run[T]) checkAsked(asked map[listwatch.Key]listwatch.Head, states ...State) {
	r.Helper()
	if len(asked) == 0 {
		r.Logf("the source does not ask Known")
		return
	}
	for _, s := range states {
		if h := asked[s.Key]; h.ResourceVersion != s.ResourceVersion || h.UID != s.UID {
			r.Errorf("Known was asked for %v, which is %+v", h, s)
		}
	}
}

// sameButKnown compares what was listed; the known one may be left out.
func (r *run[T]) sameButKnown(what string, got []State, known State, others ...State) {
	r.Helper()
	want := others
	for _, s := range got {
		if s.Key == known.Key {
			want = append(want, known)
			break
		}
	}
	r.same(what, got, want...)
}

// five makes five objects, updated so that their versions are not in the order of their names.
func (r *run[T]) five() []State {
	r.Helper()
	var states []State
	for i := 5; i > 0; i-- {
		states = append(states, r.create(fmt.Sprintf("o%d", i), "1"))
	}
	return states
}

func listPages[T listwatch.Object](r *run[T]) {
	want := r.five()
	for limit := int64(1); limit <= 6; limit++ {
		var got []State
		o := listwatch.ListOptions{Limit: limit}
		version := ""
		for pages := 1; ; pages++ {
			page, err := r.list(o)
			r.must("list of a page", err)
			got = append(got, page.states...)
			if version != "" && page.meta.ResourceVersion != version {
				r.Errorf("pages of one list have versions %s and %s", version, page.meta.ResourceVersion)
			}
			version = page.meta.ResourceVersion
			if o.Continue = page.meta.Continue; o.Continue == "" {
				break
			}
			if int64(len(page.states)) > limit {
				r.Errorf("a page of %d has %d objects", limit, len(page.states))
			}
			if left := int64(len(want) - len(got)); page.meta.Remaining != 0 && page.meta.Remaining != left {
				r.Errorf("Remaining is %d with %d to come", page.meta.Remaining, left)
			}
			if pages > len(want)+1 {
				r.fatalf("the pages of %d do not end", limit)
			}
		}
		r.checkVersion(version)
		r.same(fmt.Sprintf("pages of %d", limit), got, want...)
	}
}

// listPagesOfOneState: what is written between two pages is not part of the list, but of a
// watch from its version.
func listPagesOfOneState[T listwatch.Object](r *run[T]) {
	want := r.five()
	first, err := r.list(listwatch.ListOptions{Limit: 2})
	r.must("list of the first page", err)
	if first.meta.Continue == "" {
		r.Logf("the source does not make pages")
		r.same("list with a limit", first.states, want...)
		return
	}
	r.create("o6", "1")
	r.update("o4", "2")
	r.delete("o5")
	rest, err := r.list(listwatch.ListOptions{Continue: first.meta.Continue})
	r.must("list of the rest", err)
	r.same("pages with writes between", append(first.states, rest.states...), want...)
	w := r.watch(listwatch.WatchOptions{ResourceVersion: rest.meta.ResourceVersion}, nil)
	r.told("a watch from the version of the pages", w.state(listwatch.Deleted, "o5", "1"),
		r.event(listwatch.Added, "o6", "1"), r.event(listwatch.Modified, "o4", "2"), r.event(listwatch.Deleted, "o5", "1"))
}

func listNotOlder[T listwatch.Object](r *run[T]) {
	r.create("a", "1")
	a := r.update("a", "2")
	l, err := r.list(listwatch.ListOptions{Match: listwatch.MatchNotOlder, ResourceVersion: a.ResourceVersion})
	r.must("list not older than the last write", err)
	r.same("list not older than the last write", l.states, a)
	if listwatch.Newer(a.ResourceVersion, l.meta.ResourceVersion) {
		r.Errorf("a list not older than %s has version %s", a.ResourceVersion, l.meta.ResourceVersion)
	}
	l, err = r.list(listwatch.ListOptions{Match: listwatch.MatchNotOlder, ResourceVersion: "0", Limit: 1})
	r.must("list of any version", err)
	r.checkVersion(l.meta.ResourceVersion)
}

func listExact[T listwatch.Object](r *run[T]) {
	a := r.create("a", "1")
	version := r.all().meta.ResourceVersion
	r.update("a", "2")
	r.create("b", "1")
	l, err := r.list(listwatch.ListOptions{Match: listwatch.MatchExact, ResourceVersion: version})
	if err != nil {
		r.failed("list of an exact version", err, listwatch.ErrUnsupported, listwatch.ErrExpired)
		return
	}
	r.same("list of an exact version", l.states, a)
	if l.meta.ResourceVersion != version {
		r.Errorf("a list of exactly %s has version %s", version, l.meta.ResourceVersion)
	}
}

func listFromTheFuture[T listwatch.Object](r *run[T]) {
	r.create("a", "1")
	version := r.all().meta.ResourceVersion
	future := version + "000"
	if !listwatch.Newer(future, version) {
		r.Logf("versions such as %q have no future", version)
		return
	}
	for _, match := range []listwatch.Match{listwatch.MatchNotOlder, listwatch.MatchExact} {
		_, err := r.list(listwatch.ListOptions{Match: match, ResourceVersion: future})
		r.failed("list of a version from the future", err, listwatch.ErrTooLargeVersion, listwatch.ErrUnsupported)
	}
}

func listErrorFromEach[T listwatch.Object](r *run[T]) {
	r.five()
	ctx, done := r.within()
	defer done()
	calls := 0
	_, err := r.Source.List(ctx, listwatch.ListOptions{}, func(...T) error {
		calls++
		return errOwn
	})
	r.failed("list whose each fails", err, errOwn)
	if calls != 1 {
		r.Errorf("each was called %d times although its first call failed", calls)
	}
}

func listCancelled[T listwatch.Object](r *run[T]) {
	r.five()
	ctx, cancel := context.WithCancelCause(r.ctx)
	cancel(errOwn)
	_, err := r.Source.List(ctx, listwatch.ListOptions{}, func(...T) error { return nil })
	r.failed("list with a context that is done", err, errOwn, context.Canceled)
}

func listExpired[T listwatch.Object](r *run[T]) {
	if r.Expire == nil {
		r.Logf("the fixture cannot expire versions")
		return
	}
	want := r.five()
	first, err := r.list(listwatch.ListOptions{Limit: 2})
	r.must("list of the first page", err)
	want = append(want, r.create("o6", "1"))
	r.must("expire", r.Expire(r.ctx))
	if first.meta.Continue != "" {
		_, err = r.list(listwatch.ListOptions{Limit: 2, Continue: first.meta.Continue})
		r.failed("list with an expired token", err, listwatch.ErrExpired)
	}
	_, err = r.list(listwatch.ListOptions{Match: listwatch.MatchExact, ResourceVersion: first.meta.ResourceVersion})
	r.failed("list of an expired version", err, listwatch.ErrExpired, listwatch.ErrUnsupported)
	r.same("list after expiry", r.all().states, want...)
}
