package conformance

import (
	"fmt"
	"slices"

	"github.com/seed3bce33ad/listwatch"
)

// Rules returns the checks of a server that treats writes as a Kubernetes API server does.
// The same rows hold for a fake and for a real one, so that a controller which works with
// the fake works with the other. fixture is called as by [Cases].
func Rules[T listwatch.Object](fixture func(TB) Fixture[T]) []Case {
	return []Case{
		caseOf("CreateAssigns", fixture, createAssigns[T]),
		caseOf("CreateTwice", fixture, createTwice[T]),
		caseOf("CreateWithVersion", fixture, createWithVersion[T]),
		caseOf("UpdateConflicts", fixture, updateConflicts[T]),
		caseOf("UpdateWithoutVersion", fixture, updateWithoutVersion[T]),
		caseOf("UpdateMissing", fixture, updateMissing[T]),
		caseOf("UpdateNothing", fixture, updateNothing[T]),
		caseOf("UpdateDeletionTime", fixture, updateDeletionTime[T]),
		caseOf("StatusConflicts", fixture, statusConflicts[T]),
		caseOf("DeletePreconditions", fixture, deletePreconditions[T]),
		caseOf("DeleteMissing", fixture, deleteMissing[T]),
		caseOf("DeleteVersion", fixture, deleteVersion[T]),
		caseOf("DeleteWithFinalizers", fixture, deleteWithFinalizers[T]),
		caseOf("SeedDeletedWithoutFinalizers", fixture, seedDeleted[T]),
		caseOf("WatchFromNowhere", fixture, watchFromNowhere[T]),
		caseOf("ListOrder", fixture, listOrder[T]),
	}
}

// code checks the HTTP status of a failed write.
func (r *run[T]) code(what string, err error, want int) {
	r.Helper()
	if got := r.Code(err); err == nil || got != want {
		r.Errorf("%s: got error %v of code %d, want code %d", what, err, got, want)
	}
}

// only returns the one object that is listed.
func (r *run[T]) only() State {
	r.Helper()
	l := r.all()
	if len(l.states) != 1 {
		r.fatalf("%d objects are listed instead of one: %v", len(l.states), values(l.states))
	}
	return l.states[0]
}

func createAssigns[T listwatch.Object](r *run[T]) {
	given := State{Key: r.key("a"), UID: "mine", Value: "1", Deleted: true}
	a, err := r.Create(r.ctx, given)
	r.must("create", err)
	if a.UID == "" || a.UID == given.UID || a.ResourceVersion == "" || a.Deleted {
		r.Errorf("what was created is %+v", a)
	}
	if got := r.only(); got.UID != a.UID || got.ResourceVersion != a.ResourceVersion || got.Deleted {
		r.Errorf("listed is %+v, created %+v", got, a)
	}
}

func createTwice[T listwatch.Object](r *run[T]) {
	a := r.create("a", "1")
	_, err := r.Create(r.ctx, State{Key: a.Key, Value: "2"})
	r.code("create of what is there", err, 409)
	r.same("list", r.all().states, a)
}

func createWithVersion[T listwatch.Object](r *run[T]) {
	_, err := r.Create(r.ctx, State{Key: r.key("a"), Value: "1", ResourceVersion: r.all().meta.ResourceVersion})
	if err == nil {
		r.Errorf("create with a version was taken")
	}
	r.same("list", r.all().states)
}

func updateConflicts[T listwatch.Object](r *run[T]) {
	old := r.create("a", "1")
	now := r.update("a", "2")
	_, err := r.Update(r.ctx, State{Key: old.Key, Value: "3", ResourceVersion: old.ResourceVersion})
	r.code("update of an old version", err, 409)
	_, err = r.Update(r.ctx, State{Key: old.Key, Value: "3", ResourceVersion: now.ResourceVersion + "0"})
	r.code("update of a future version", err, 409)
	_, err = r.Update(r.ctx, State{Key: old.Key, Value: "3", UID: "another"})
	r.code("update of another identity", err, 409)
	r.same("list", r.all().states, now)
	now, err = r.Update(r.ctx, State{Key: old.Key, Value: "3", ResourceVersion: now.ResourceVersion, UID: now.UID})
	r.must("update of the present version", err)
	r.same("list", r.all().states, now)
}

func updateWithoutVersion[T listwatch.Object](r *run[T]) {
	a := r.create("a", "1")
	b := r.update("a", "2")
	if b.UID != a.UID || !listwatch.Newer(b.ResourceVersion, a.ResourceVersion) {
		r.Errorf("update made %+v of %+v", b, a)
	}
}

func updateMissing[T listwatch.Object](r *run[T]) {
	_, err := r.Update(r.ctx, State{Key: r.key("a"), Value: "1"})
	r.code("update of what never was", err, 404)
	a := r.create("a", "1")
	r.delete("a")
	_, err = r.Update(r.ctx, State{Key: a.Key, Value: "2", ResourceVersion: a.ResourceVersion})
	r.code("update of what was deleted", err, 404)
	_, err = r.UpdateStatus(r.ctx, State{Key: a.Key, Value: "2", ResourceVersion: a.ResourceVersion})
	r.code("status update of what was deleted", err, 404)
	r.same("list", r.all().states)
}

// updateNothing: contents that are there already make neither a version nor an event.
func updateNothing[T listwatch.Object](r *run[T]) {
	a := r.create("a", "1")
	for _, version := range []string{"", a.ResourceVersion} {
		b, err := r.Update(r.ctx, State{Key: a.Key, Value: "1", ResourceVersion: version})
		r.must("update", err)
		if b.ResourceVersion != a.ResourceVersion {
			r.Errorf("an update without a change made version %s of %s", b.ResourceVersion, a.ResourceVersion)
		}
	}
	w := r.from(a.ResourceVersion)
	r.update("a", "2")
	r.told("a watch of updates without a change", w.state(listwatch.Modified, "a", "2"), r.event(listwatch.Modified, "a", "2"))
}

func updateDeletionTime[T listwatch.Object](r *run[T]) {
	key := r.key("a")
	_, err := r.Create(r.ctx, State{Key: key, Value: "1", Finalizers: []string{"example.com/a"}})
	r.must("create", err)
	// A server may refuse or ignore it, but not take it.
	if b, err := r.Update(r.ctx, State{Key: key, Value: "2", Finalizers: []string{"example.com/a"}, Deleted: true}); err == nil && b.Deleted {
		r.Errorf("an update set the deletion time")
	}
	if r.only().Deleted {
		r.Errorf("an update set the deletion time of what is listed")
	}
	r.must("delete", r.Delete(r.ctx, State{Key: key}))
	if b, err := r.Update(r.ctx, State{Key: key, Value: "3", Finalizers: []string{"example.com/a"}}); err == nil && !b.Deleted {
		r.Errorf("an update cleared the deletion time")
	}
	if !r.only().Deleted {
		r.Errorf("an update cleared the deletion time of what is listed")
	}
}

func statusConflicts[T listwatch.Object](r *run[T]) {
	old := r.create("a", "1")
	now := r.update("a", "2")
	_, err := r.UpdateStatus(r.ctx, State{Key: old.Key, Value: "3", ResourceVersion: old.ResourceVersion})
	r.code("status update of an old version", err, 409)
	r.same("list", r.all().states, now)
}

func deletePreconditions[T listwatch.Object](r *run[T]) {
	old := r.create("a", "1")
	now := r.update("a", "2")
	r.code("delete of an old version", r.Delete(r.ctx, State{Key: old.Key, ResourceVersion: old.ResourceVersion}), 409)
	r.code("delete of another identity", r.Delete(r.ctx, State{Key: old.Key, UID: "another"}), 409)
	r.same("list", r.all().states, now)
	r.must("delete", r.Delete(r.ctx, State{Key: now.Key, UID: now.UID, ResourceVersion: now.ResourceVersion}))
	r.same("list", r.all().states)
}

func deleteMissing[T listwatch.Object](r *run[T]) {
	r.code("delete of what never was", r.Delete(r.ctx, State{Key: r.key("a")}), 404)
	a := r.create("a", "1")
	r.delete("a")
	r.code("delete of what was deleted", r.Delete(r.ctx, State{Key: a.Key}), 404)
	r.code("delete of what was deleted, by identity", r.Delete(r.ctx, State{Key: a.Key, UID: a.UID}), 404)
}

// deleteVersion: the deleted object carries the version of the deletion, so that a client
// which resumes from it is not told again.
func deleteVersion[T listwatch.Object](r *run[T]) {
	a := r.create("a", "1")
	b := r.create("b", "1")
	r.delete("a")
	events := r.from(a.ResourceVersion).state(listwatch.Deleted, "a", "1")
	e := events[len(events)-1]
	if e.position == "" && r.StaysBehind {
		e.position = e.state.ResourceVersion
	}
	if e.state.ResourceVersion != e.position || !listwatch.Newer(e.position, b.ResourceVersion) {
		r.Errorf("the deleted object has version %s, its event %s, the write before %s", e.state.ResourceVersion, e.position, b.ResourceVersion)
	}
	if e.state.UID != a.UID {
		r.Errorf("the deleted object has identity %s, not %s", e.state.UID, a.UID)
	}
	w := r.from(e.state.ResourceVersion)
	r.update("b", "2")
	r.told("a watch from a deleted object", w.state(listwatch.Modified, "b", "2"), r.event(listwatch.Modified, "b", "2"))
}

// deleteWithFinalizers: a delete only marks the object; its removal is the deletion.
func deleteWithFinalizers[T listwatch.Object](r *run[T]) {
	both := []string{"example.com/a", "example.com/b"}
	a, err := r.Create(r.ctx, State{Key: r.key("a"), Value: "1", Finalizers: both})
	r.must("create", err)
	w := r.from(a.ResourceVersion)
	r.delete("a")
	marked := r.only()
	if !marked.Deleted || !listwatch.Newer(marked.ResourceVersion, a.ResourceVersion) {
		r.Errorf("delete made %+v of %+v", marked, a)
	}
	r.delete("a")
	if again := r.only(); again.ResourceVersion != marked.ResourceVersion {
		r.Errorf("the second delete made version %s of %s", again.ResourceVersion, marked.ResourceVersion)
	}
	_, err = r.Update(r.ctx, State{Key: a.Key, Value: "1", Finalizers: both[:1]})
	r.must("update without one finalizer", err)
	dropped := r.only()
	_, err = r.Update(r.ctx, State{Key: a.Key, Value: "1"})
	r.must("update without the last finalizer", err)
	r.same("list", r.all().states)

	events := changes(w.state(listwatch.Deleted, "a", "1"))
	modified := r.event(listwatch.Modified, "a", "1")
	r.told("deletion with finalizers", events, modified, modified, r.event(listwatch.Deleted, "a", "1"))
	if len(events) != 3 {
		return
	}
	gone := events[2]
	if !events[0].state.Deleted || !gone.state.Deleted || !slices.Equal(gone.state.Finalizers, both[:1]) {
		r.Errorf("the events of a deletion with finalizers hold %+v", events)
	}
	if !listwatch.Newer(gone.state.ResourceVersion, dropped.ResourceVersion) {
		r.Errorf("the deletion has version %s, the write before %s", gone.state.ResourceVersion, dropped.ResourceVersion)
	}
}

func seedDeleted[T listwatch.Object](r *run[T]) {
	if r.Seed == nil {
		r.Logf("the fixture cannot seed")
		return
	}
	if err := r.Seed(r.ctx, State{Key: r.key("a"), Value: "1", Deleted: true}); err == nil {
		r.Errorf("an object that is being deleted without a finalizer was taken")
	}
	kept := State{Key: r.key("b"), Value: "1", Deleted: true, Finalizers: []string{"example.com/a"}}
	r.must("seed", r.Seed(r.ctx, kept))
	if got := r.only(); !got.Deleted {
		r.Errorf("what was seeded is listed as %+v", got)
	}
}

// watchFromNowhere: without a version, what exists is told first; with one, it is not.
func watchFromNowhere[T listwatch.Object](r *run[T]) {
	r.create("a", "1")
	l := r.all()
	nowhere, from := r.from(""), r.from(l.meta.ResourceVersion)
	nowhere.state(listwatch.Added, "a", "1")
	r.create("b", "1")
	a, b := r.event(listwatch.Added, "a", "1"), r.event(listwatch.Added, "b", "1")
	got := slices.DeleteFunc(nowhere.state(listwatch.Added, "b", "1"), func(e told) bool { return e.typ == listwatch.Synced })
	r.told("a watch without a version", got, a, b)
	r.told("a watch from a list", from.state(listwatch.Added, "b", "1"), b)
}

// listOrder: the order is that of the bytes of "namespace/name".
func listOrder[T listwatch.Object](r *run[T]) {
	var want []string
	for i, namespace := range r.Namespaces {
		for _, name := range []string{"a", "b.c", "b-c", "b"} {
			key := listwatch.Key{Namespace: namespace, Name: name}
			_, err := r.Create(r.ctx, State{Key: key, Value: fmt.Sprint(i)})
			r.must("create", err)
			want = append(want, key.String())
		}
	}
	slices.Sort(want)
	var got []string
	for _, s := range r.all().states {
		got = append(got, s.Key.String())
	}
	if !slices.Equal(got, want) {
		r.Errorf("the order of a list is %v, want %v", got, want)
	}
}
