package conformance

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/seed3bce33ad/listwatch"
)

// from starts a watch behind a version.
func (r *run[T]) from(version string) *watch[T] {
	return r.watch(listwatch.WatchOptions{ResourceVersion: version}, nil)
}

// story writes some changes and returns their events.
func (r *run[T]) story() []string {
	r.Helper()
	r.create("a", "1")
	r.create("b", "1")
	r.update("a", "2")
	r.delete("b")
	r.update("a", "3")
	return []string{
		r.event(listwatch.Added, "a", "1"), r.event(listwatch.Added, "b", "1"), r.event(listwatch.Modified, "a", "2"),
		r.event(listwatch.Deleted, "b", "1"), r.event(listwatch.Modified, "a", "3"),
	}
}

// watchReplays: what happened between a list and a watch is not lost.
func watchReplays[T listwatch.Object](r *run[T]) {
	version := r.all().meta.ResourceVersion
	want := r.story()
	r.told("a watch begun after the writes", r.from(version).state(listwatch.Modified, "a", "3"), want...)
	if now := r.all().meta.ResourceVersion; now == version {
		r.Errorf("lists before and after the writes have the same version %s", now)
	}
}

// watchResumesAnywhere: a watch from any position goes on right behind it.
func watchResumesAnywhere[T listwatch.Object](r *run[T]) {
	version := r.all().meta.ResourceVersion
	r.story()
	events := changes(r.from(version).state(listwatch.Modified, "a", "3"))
	for i, e := range events[:len(events)-1] {
		if e.position == "" {
			continue
		}
		if i+1 < len(events) && events[i+1].position == e.position {
			continue
		}
		rest := r.from(e.position).state(listwatch.Modified, "a", "3")
		r.told("a watch from "+e.position, rest, texts(events[i+1:])...)
	}
	last := events[len(events)-1]
	if last.position == "" && !r.StaysBehind {
		r.Errorf("%v does not move the position", last)
	}
	w := r.from(r.behind(last))
	r.update("a", "4")
	r.told("a watch from the end", w.state(listwatch.Modified, "a", "4"), r.event(listwatch.Modified, "a", "4"))
}

// behind returns a version right behind the last event: its position or, when that may stay
// behind and does, the version of a list.
func (r *run[T]) behind(last told) string {
	r.Helper()
	if last.position == "" && r.StaysBehind {
		return r.all().meta.ResourceVersion
	}
	return last.position
}

// watchFollows: a watch that is running tells what happens.
func watchFollows[T listwatch.Object](r *run[T]) {
	w := r.from(r.all().meta.ResourceVersion)
	r.create("first", "1")
	w.state(listwatch.Added, "first", "1")
	want := append([]string{r.event(listwatch.Added, "first", "1")}, r.story()...)
	r.told("a running watch", w.state(listwatch.Modified, "a", "3"), want...)
}

// watchDeleted: the position of a deletion is its own, not that of the last state.
func watchDeleted[T listwatch.Object](r *run[T]) {
	version := r.all().meta.ResourceVersion
	a := r.create("a", "1")
	b := r.create("b", "1")
	r.delete("a")
	events := r.from(version).state(listwatch.Deleted, "a", "1")
	position := r.behind(events[len(events)-1])
	for _, s := range []State{a, b} {
		if position == "" || position == s.ResourceVersion || listwatch.Newer(s.ResourceVersion, position) {
			r.Errorf("the deletion has position %q, which is not newer than %s of %s", position, s.ResourceVersion, s.Key)
		}
	}
	w := r.from(position)
	r.update("b", "2")
	r.told("a watch from a deletion", w.state(listwatch.Modified, "b", "2"), r.event(listwatch.Modified, "b", "2"))
}

func watchRecreated[T listwatch.Object](r *run[T]) {
	version := r.all().meta.ResourceVersion
	first := r.create("a", "1")
	r.delete("a")
	second := r.create("a", "2")
	events := changes(r.from(version).state(listwatch.Added, "a", "2"))
	r.told("delete and create under one name", events,
		r.event(listwatch.Added, "a", "1"), r.event(listwatch.Deleted, "a", "1"), r.event(listwatch.Added, "a", "2"))
	if first.UID == "" {
		r.Logf("the source has no identities")
		return
	}
	if first.UID == second.UID {
		r.Errorf("two objects have the identity %s", first.UID)
	}
	for _, e := range events {
		if want := map[string]string{"1": first.UID, "2": second.UID}[e.state.Value]; e.state.UID != want {
			r.Errorf("%v has identity %s, want %s", e, e.state.UID, want)
		}
	}
}

// watchSlowReader: each may block for as long as it likes. Writers go on, and what came
// meanwhile is told afterwards, by this watch or, when the source has ended it, by the next.
func watchSlowReader[T listwatch.Object](r *run[T]) {
	const n = 300
	version := r.all().meta.ResourceVersion
	entered, release := make(chan struct{}), make(chan struct{})
	hold := sync.OnceFunc(func() {
		close(entered)
		<-release
	})
	w := r.watch(listwatch.WatchOptions{ResourceVersion: version}, func() error {
		hold()
		return nil
	})
	r.create("a", "0")
	ctx, done := r.within()
	defer done()
	select {
	case <-entered:
	case <-ctx.Done():
		close(release)
		r.fatalf("the first event did not come")
	}
	var want []string
	for i := 1; i <= n; i++ {
		r.update("a", fmt.Sprint(i))
		want = append(want, r.event(listwatch.Modified, "a", fmt.Sprint(i)))
	}
	close(release)
	last := func(e told) bool { return e.state.Value == fmt.Sprint(n) }
	got := r.followed(w, version, last)
	r.told("what a slow reader was told", got, append([]string{r.event(listwatch.Added, "a", "0")}, want...)...)
}

// followed reads a watch to an event, and goes on with further watches when it ends cleanly.
func (r *run[T]) followed(w *watch[T], version string, last func(told) bool) []told {
	r.Helper()
	var got []told
	for range 10 {
		ended := w.untilEnd(last)
		seen := w.seen()
		got = append(got, changes(seen)...)
		if !ended {
			return got
		}
		r.must("a watch that was read slowly", w.err)
		for _, e := range seen {
			if e.position != "" {
				version = e.position
			}
		}
		w = r.from(version)
	}
	r.fatalf("ten watches ended early")
	return nil
}

// untilEnd waits for an event, and reports whether the watch ended without it.
func (w *watch[T]) untilEnd(last func(told) bool) (ended bool) {
	w.r.Helper()
	ctx, done := w.r.within()
	defer done()
	for {
		w.mu.Lock()
		more := w.more
		w.mu.Unlock()
		if slices.ContainsFunc(w.seen(), last) {
			return false
		}
		select {
		case <-more:
		case <-w.done:
			return !slices.ContainsFunc(w.seen(), last)
		case <-ctx.Done():
			w.r.fatalf("the watch has stopped telling after %d events", len(w.seen()))
		}
	}
}

// watchSideBySide: several calls at once do not disturb each other.
func watchSideBySide[T listwatch.Object](r *run[T]) {
	version := r.all().meta.ResourceVersion
	var all []*watch[T]
	for range 5 {
		all = append(all, r.from(version))
	}
	want := r.story()
	all[0].cancel(errOwn)
	all[0].end("cancelled")
	l := r.all()
	for _, w := range all[1:] {
		r.told("one of several watches", w.state(listwatch.Modified, "a", "3"), want...)
	}
	if got := values(l.states); len(got) != 1 {
		r.Errorf("a list beside watches has %v", got)
	}
}

func watchErrorFromEach[T listwatch.Object](r *run[T]) {
	version := r.all().meta.ResourceVersion
	r.story()
	var calls atomic.Int64
	w := r.watch(listwatch.WatchOptions{ResourceVersion: version}, func() error {
		calls.Add(1)
		return errOwn
	})
	r.failed("watch whose each fails", w.end("each failed"), errOwn)
	if n := calls.Load(); n != 1 {
		r.Errorf("each was called %d times although its first call failed", n)
	}
}

func watchCancelled[T listwatch.Object](r *run[T]) {
	version := r.all().meta.ResourceVersion
	idle := r.from(version)
	idle.cancel(errOwn)
	r.failed("an idle watch that is cancelled", idle.end("cancelled"), errOwn, context.Canceled)

	busy := r.from(version)
	r.create("a", "1")
	busy.state(listwatch.Added, "a", "1")
	busy.cancel(errOwn)
	r.failed("a busy watch that is cancelled", busy.end("cancelled"), errOwn, context.Canceled)
	r.update("a", "2") // it must have been forgotten
}

// watchExpired: the failure comes before any event, and a list gets out of it.
func watchExpired[T listwatch.Object](r *run[T]) {
	if r.Expire == nil {
		r.Logf("the fixture cannot expire versions")
		return
	}
	version := r.all().meta.ResourceVersion
	r.story()
	r.must("expire", r.Expire(r.ctx))
	w := r.from(version)
	r.failed("watch from an expired version", w.end("expired"), listwatch.ErrExpired)
	r.told("a watch from an expired version", w.seen())
	w = r.from(r.all().meta.ResourceVersion)
	r.update("a", "4")
	r.told("a watch after expiry", w.state(listwatch.Modified, "a", "4"), r.event(listwatch.Modified, "a", "4"))
}

// watchBookmark: nothing is repeated and nothing is lost behind a bookmark.
func watchBookmark[T listwatch.Object](r *run[T]) {
	if r.Bookmark == nil {
		r.Logf("the fixture cannot ask for bookmarks")
		return
	}
	w := r.from(r.all().meta.ResourceVersion)
	r.story()
	events := w.state(listwatch.Modified, "a", "3")
	position := r.behind(events[len(events)-1])
	r.must("bookmark", r.Bookmark(r.ctx))
	seen := len(events)
	events = w.until("a bookmark", func(e told) bool {
		return e.typ == listwatch.Bookmark && !listwatch.Newer(position, e.position)
	})
	mark := events[len(events)-1]
	if mark.position == "" {
		r.Errorf("a bookmark after %d events has no position", seen)
	}
	r.update("a", "4")
	r.told("a watch from a bookmark", r.from(mark.position).state(listwatch.Modified, "a", "4"), r.event(listwatch.Modified, "a", "4"))
}
