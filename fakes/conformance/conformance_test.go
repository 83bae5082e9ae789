package conformance_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/fakes/conformance"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type fixture = conformance.Fixture[*fakes.Object]

func read(o *fakes.Object) conformance.State {
	return conformance.State{
		Key: listwatch.KeyOf(o), UID: o.UID, ResourceVersion: o.ResourceVersion, Value: o.Value,
		Finalizers: o.Finalizers, Deleted: !o.Deleted.IsZero(),
	}
}

func write(s conformance.State) *fakes.Object {
	o := &fakes.Object{
		Meta:  listwatch.Meta{Namespace: s.Key.Namespace, Name: s.Key.Name, UID: s.UID, ResourceVersion: s.ResourceVersion},
		Value: s.Value, Finalizers: s.Finalizers,
	}
	if s.Deleted {
		o.Deleted = time.Unix(1, 0)
	}
	return o
}

func verb(f func(*fakes.Object) (*fakes.Object, error)) func(context.Context, conformance.State) (conformance.State, error) {
	return func(_ context.Context, s conformance.State) (conformance.State, error) {
		o, err := f(write(s))
		if err != nil {
			return conformance.State{}, err
		}
		return read(o), nil
	}
}

func options() fakes.Options[*fakes.Object] {
	return fakes.Options[*fakes.Object]{Finalizers: fakes.ObjectFinalizers, Deleted: fakes.ObjectDeleted}
}

// of describes a source, as seen through wrap.
func of(o fakes.Options[*fakes.Object], wrap func(*fakes.Source[*fakes.Object]) listwatch.ListerWatcher[*fakes.Object]) fixture {
	s := fakes.New(fakes.StampObject, o)
	return fixture{
		Source: wrap(s),
		Read:   read,
		Create: verb(s.Create),
		Update: verb(s.Update),
		Delete: func(_ context.Context, d conformance.State) error {
			_, err := s.Delete(d.Key, fakes.Preconditions{UID: d.UID, ResourceVersion: d.ResourceVersion})
			return err
		},
		Seed:       func(_ context.Context, d conformance.State) error { return s.Seed(write(d)) },
		Expire:     func(context.Context) error { return s.Compact(s.Version()) },
		Bookmark:   func(context.Context) error { s.Bookmark(); return nil },
		Namespaces: []string{"ord", "ord-b", "ord.c"},
		Close: func() {
			s.Cut(nil)
			synctest.Wait() // what runs still shows itself
		},
	}
}

func itself(s *fakes.Source[*fakes.Object]) listwatch.ListerWatcher[*fakes.Object] { return s }

// sources are what the suite is run over here.
func sources() map[string]func(conformance.TB) fixture {
	old := options()
	old.NoInitialEvents, old.ExpiredStatus = true, true
	return map[string]func(conformance.TB) fixture{
		"Source":    func(conformance.TB) fixture { return of(options(), itself) },
		"OldServer": func(conformance.TB) fixture { return of(old, itself) },
		"Selected": func(conformance.TB) fixture {
			return of(options(), func(s *fakes.Source[*fakes.Object]) listwatch.ListerWatcher[*fakes.Object] {
				return s.Select(func(*fakes.Object) bool { return true })
			})
		},
		"Transform": func(conformance.TB) fixture {
			return of(options(), func(s *fakes.Source[*fakes.Object]) listwatch.ListerWatcher[*fakes.Object] {
				return listwatch.Transform(s, func(o *fakes.Object) (*fakes.Object, error) { return o, nil })
			})
		},
		"EndsOften": func(conformance.TB) fixture {
			return of(options(), func(s *fakes.Source[*fakes.Object]) listwatch.ListerWatcher[*fakes.Object] {
				return listwatch.Funcs[*fakes.Object]{ListFunc: s.List, InitialEvents: true,
					WatchFunc: func(ctx context.Context, o listwatch.WatchOptions, each func(...listwatch.Event[*fakes.Object]) error) error {
						s.CutNext(50, nil)
						return s.Watch(ctx, o, each)
					}}
			})
		},
		"StaysBehind": func(conformance.TB) fixture {
			f := of(options(), func(s server) listwatch.ListerWatcher[object] { return one(s, unmoved) })
			f.StaysBehind = true
			return f
		},
		"Least": func(conformance.TB) fixture {
			f := of(options(), itself)
			f.Seed, f.Expire, f.Bookmark, f.Namespaces = nil, nil, nil, nil
			source := f.Source
			f.Source = listwatch.Funcs[*fakes.Object]{WatchFunc: source.Watch,
				ListFunc: func(ctx context.Context, o listwatch.ListOptions, each func(...*fakes.Object) error) (listwatch.ListMeta, error) {
					o.Known = nil // not asked
					if o.Match == listwatch.MatchExact {
						return listwatch.ListMeta{}, listwatch.ErrUnsupported
					}
					o.Limit = 0 // no pages
					return source.List(ctx, o, each)
				}}
			return f
		},
		"Funcs": func(conformance.TB) fixture {
			return of(options(), func(s *fakes.Source[*fakes.Object]) listwatch.ListerWatcher[*fakes.Object] {
				return listwatch.Funcs[*fakes.Object]{ListFunc: s.List, WatchFunc: s.Watch}
			})
		},
	}
}

// Scenarios 99, 100, 102, 103, 105, 108, 113, 117.
func TestConformance(t *testing.T) {
	for name, source := range sources() {
		t.Run(name, func(t *testing.T) {
			for _, c := range append(conformance.Cases(source), conformance.Rules(source)...) {
				t.Run(c.Name, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { c.Run(t) })
				})
			}
		})
	}
}
