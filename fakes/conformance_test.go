package fakes_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/fakes/conformance"
)

// TestSourceConformance runs the suite with bookmarks and timeouts of a server on.
// Scenarios 99, 100, 105, 108, 113, 117.
func TestSourceConformance(t *testing.T) {
	fixture := func(conformance.TB) conformance.Fixture[object] {
		s := newSource(options{WatchTimeout: time.Hour, FreshWait: 3 * time.Second})
		verb := func(f func(object) (object, error)) func(context.Context, conformance.State) (conformance.State, error) {
			return func(_ context.Context, d conformance.State) (conformance.State, error) {
				o, err := f(written(d))
				if err != nil {
					return conformance.State{}, err
				}
				return read(o), nil
			}
		}
		return conformance.Fixture[object]{
			Source: s, Read: read, Create: verb(s.Create), Update: verb(s.Update),
			Delete: func(_ context.Context, d conformance.State) error {
				_, err := s.Delete(d.Key, fakes.Preconditions{UID: d.UID, ResourceVersion: d.ResourceVersion})
				return err
			},
			Seed:       func(_ context.Context, d conformance.State) error { return s.Seed(written(d)) },
			Expire:     func(context.Context) error { return s.Compact(s.Version()) },
			Bookmark:   func(context.Context) error { s.Bookmark(); return nil },
			Namespaces: []string{"ord", "ord-b", "ord.c"},
		}
	}
	for _, c := range append(conformance.Cases(fixture), conformance.Rules(fixture)...) {
		t.Run(c.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { c.Run(t) })
		})
	}
}

func read(o object) conformance.State {
	return conformance.State{
		Key: listwatch.KeyOf(o), UID: o.UID, ResourceVersion: o.ResourceVersion, Value: o.Value,
		Finalizers: o.Finalizers, Deleted: !o.Deleted.IsZero(),
	}
}

func written(s conformance.State) object {
	o := &fakes.Object{
		Meta:  listwatch.Meta{Namespace: s.Key.Namespace, Name: s.Key.Name, UID: s.UID, ResourceVersion: s.ResourceVersion},
		Value: s.Value, Finalizers: s.Finalizers,
	}
	if s.Deleted {
		o.Deleted = time.Unix(1, 0)
	}
	return o
}
