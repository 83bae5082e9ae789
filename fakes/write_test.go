package fakes_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/stretchr/testify/require"
)

func TestCreate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource(options{Version: 99})
		require.Equal(t, "99", s.Version())
		time.Sleep(1500 * time.Millisecond)
		got, err := s.Create(with(obj("a", "1"), func(o object) { o.UID, o.Deleted = "mine", time.Now() }))
		require.NoError(t, err)
		want := obj("a", "1")
		want.UID, want.ResourceVersion = "uid-1", "100"
		want.Created = time.Date(2000, 1, 1, 0, 0, 1, 0, time.UTC)
		require.Empty(t, cmp.Diff(want, got))

		_, err = s.Create(obj("a", "2"))
		require.ErrorIs(t, err, fakes.ErrAlreadyExists)
		require.NotErrorIs(t, err, fakes.ErrConflict)
		require.EqualError(t, err, `status 409 AlreadyExists: "ns/a" already exists`)
		_, err = s.Create(obj("", "2"))
		require.EqualError(t, err, "status 422 Invalid: name is required")
		_, err = s.Create(with(obj("b", "1"), func(o object) { o.ResourceVersion = "5" }))
		require.ErrorContains(t, err, "status 500: resourceVersion should not be set")
		require.Equal(t, "100", s.Version(), "a refused write makes no version")
	})
}

// Scenario 105.
func TestUpdate(t *testing.T) {
	s := newSource(options{})
	_, err := s.Update(obj("a", "1"))
	require.ErrorIs(t, err, listwatch.ErrNotFound)
	old := put(t, s, obj("a", "1"))
	now, err := s.Update(with(old, func(o object) { o.Value = "2" }))
	require.NoError(t, err)
	require.Equal(t, old.UID, now.UID)
	require.Equal(t, "3", now.ResourceVersion)
	_, err = s.Update(with(old, func(o object) { o.Value = "3" }))
	require.ErrorIs(t, err, fakes.ErrConflict)
	require.EqualError(t, err, `status 409 Conflict: "ns/a" has version "3", not "2"`)
	_, err = s.Update(with(now, func(o object) { o.UID = "another" }))
	require.EqualError(t, err, `status 409 Conflict: "ns/a" has UID "uid-1", not "another"`)
	for _, any := range []string{"", "0"} {
		now, err = s.Update(with(now, func(o object) { o.Value, o.ResourceVersion = "any"+any, any }))
		require.NoError(t, err)
	}
	require.Equal(t, "5", now.ResourceVersion)
}

// Scenario 117.
func TestUpdateWithoutChange(t *testing.T) {
	s := newSource(options{})
	a := put(t, s, obj("a", "1"))
	for _, same := range []object{a, obj("a", "1"), with(a, func(o object) { o.Created, o.Labels = time.Time{}, map[string]string{} })} {
		got, err := s.Update(same)
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(a, got))
	}
	require.Equal(t, a.ResourceVersion, s.Version())

	blind := newSource(options{Equal: func(object, object) bool { return true }})
	put(t, blind, obj("a", "1"), obj("a", "2"))
	require.Equal(t, "2", blind.Version())
	require.Equal(t, "1", blind.Objects()[0].Value)
}

func TestDelete(t *testing.T) {
	s := newSource(options{})
	_, err := s.Delete(key("a"), fakes.Preconditions{})
	require.ErrorIs(t, err, listwatch.ErrNotFound)
	a := put(t, s, obj("a", "1"), obj("b", "1"), obj("a", "2"))
	_, err = s.Delete(key("a"), fakes.Preconditions{ResourceVersion: "2"})
	require.EqualError(t, err, `status 409 Conflict: "ns/a" has version "4", not "2"`)
	_, err = s.Delete(key("a"), fakes.Preconditions{UID: "another"})
	require.EqualError(t, err, `status 409 Conflict: "ns/a" has UID "uid-1", not "another"`)
	gone, err := s.Delete(key("a"), fakes.Preconditions{UID: a.UID, ResourceVersion: a.ResourceVersion})
	require.NoError(t, err)
	want := a.Clone()
	want.ResourceVersion = "5"
	require.Empty(t, cmp.Diff(want, gone))
	_, err = s.Get(key("a"))
	require.ErrorIs(t, err, listwatch.ErrNotFound)
	require.EqualError(t, err, `status 404 NotFound: "ns/a" not found`)
	require.Len(t, s.Objects(), 1)
}

// Scenario 105: what the rules of the conformance suite do not reach.
func TestDeleteWithFinalizers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource(options{})
		kept := with(obj("a", "1"), func(o object) { o.Finalizers = []string{"f", "g"} })
		put(t, s, kept)
		marked := remove(t, s, "a")
		require.Equal(t, time.Now().UTC(), marked.Deleted)
		time.Sleep(time.Minute)
		require.Empty(t, cmp.Diff(marked, remove(t, s, "a")), "the deletion time stays")
		_, err := s.Update(with(marked, func(o object) { o.Finalizers = []string{"f", "h"} }))
		require.EqualError(t, err, `status 422 Invalid: "ns/a" is being deleted: finalizer "h" cannot be added`)
		w := watch(t, s, from(s.Version()))
		last, err := s.Update(with(marked, func(o object) { o.Finalizers, o.Value = nil, "2" }))
		require.NoError(t, err)
		require.Equal(t, marked.ResourceVersion, last.ResourceVersion, "the version from before")
		require.Equal(t, "2", last.Value)
		synctest.Wait()
		require.Equal(t, []string{"Deleted a=1@4 at 4"}, w.told())
		require.Equal(t, []string{"f", "g"}, w.events[0].Object.Finalizers)
		again := put(t, s, obj("a", "3"))
		require.NotEqual(t, marked.UID, again.UID)
		require.Zero(t, again.Deleted)
	})
}

func TestSeed(t *testing.T) {
	s := newSource(options{})
	deleted := with(obj("a", "1"), func(o object) {
		o.UID, o.Deleted, o.Finalizers = "mine", time.Unix(1, 0), []string{"f"}
	})
	require.NoError(t, s.Seed(deleted, obj("b", "1")))
	a, err := s.Get(key("a"))
	require.NoError(t, err)
	require.Equal(t, "mine", a.UID)
	require.True(t, a.Deleted.Equal(time.Unix(1, 0)))
	b, err := s.Get(key("b"))
	require.NoError(t, err)
	require.Equal(t, "uid-1", b.UID)
	require.Equal(t, "3", s.Version())

	require.ErrorIs(t, s.Seed(obj("c", "1"), obj("b", "2")), fakes.ErrAlreadyExists)
	require.ErrorIs(t, s.Seed(obj("c", "1"), obj("c", "2")), fakes.ErrAlreadyExists)
	require.ErrorContains(t, s.Seed(obj("c", "1"), obj("", "2")), "name is required")
	require.EqualError(t, s.Seed(obj("c", "1"), with(obj("d", "1"), func(o object) { o.Deleted = time.Unix(1, 0) })),
		`status 422 Invalid: "ns/d" is being deleted but has no finalizers`)
	require.Len(t, s.Objects(), 2, "nothing of a refused call is added")

	plain := fakes.New(fakes.StampObject, options{})
	require.NoError(t, plain.Seed(with(obj("a", "1"), func(o object) { o.Deleted = time.Unix(1, 0) })))
	require.Zero(t, plain.Objects()[0].Deleted, "without a getter nothing is being deleted")
}

func TestFailWrites(t *testing.T) {
	s := newSource(options{})
	a := put(t, s, obj("a", "1"))
	overloaded := fakes.Status(429, "later")
	for _, verb := range []fakes.Verb{fakes.VerbGet, fakes.VerbCreate, fakes.VerbUpdate, fakes.VerbDelete} {
		s.Fail(verb, overloaded)
	}
	_, err := s.Get(key("a"))
	require.ErrorIs(t, err, listwatch.ErrTooManyRequests)
	_, err = s.Create(obj("b", "1"))
	require.ErrorIs(t, err, listwatch.ErrTooManyRequests)
	_, err = s.Update(with(a, func(o object) { o.Value = "2" }))
	require.ErrorIs(t, err, listwatch.ErrTooManyRequests)
	_, err = s.Delete(key("a"), fakes.Preconditions{})
	require.ErrorIs(t, err, listwatch.ErrTooManyRequests)
	got, err := s.Get(key("a"))
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(a, got))
	require.Equal(t, a.ResourceVersion, s.Version())
}
