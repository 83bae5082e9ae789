package conformance_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/fakes/conformance"
	"github.com/seed3bce33ad/listwatch/internal/worker"
	"github.com/stretchr/testify/require"
)

// calledLate calls each once more after its watch has returned.
func calledLate(s server) funcs {
	return funcs{ListFunc: s.List, WatchFunc: func(ctx context.Context, o listwatch.WatchOptions, each func(...listwatch.Event[object]) error) error {
		var group worker.Group
		err := s.Watch(ctx, o, func(events ...listwatch.Event[object]) error {
			err := each(events...)
			events = slices.Clone(events)
			group.Go(func() {
				<-ctx.Done() // the suite ends the context when the call has returned
				_ = each(events...)
			})
			return err
		})
		return err
	}}
}

// together returns a way to read that two goroutines can only go at once.
func together() func(object) conformance.State {
	meet := make(chan struct{})
	return func(o object) conformance.State {
		select {
		case meet <- struct{}{}:
		case <-meet:
		}
		return read(o)
	}
}

func TestFindsFaults(t *testing.T) {
	for _, b := range broken {
		t.Run(strings.ReplaceAll(b.name, " ", "_"), func(t *testing.T) {
			reports(t, b.found, b.says, func(conformance.TB) fixture {
				f := of(options(), func(s server) listwatch.ListerWatcher[object] { return b.wrap(s) })
				if strings.Contains(b.says, "while it was running") {
					f.Read = together()
				}
				return f
			})
		})
	}
}

// reports checks what a case says of a fixture.
func reports(t *testing.T, name, says string, source func(conformance.TB) fixture) {
	t.Helper()
	for _, c := range append(conformance.Cases(source), conformance.Rules(source)...) {
		if c.Name == name {
			require.Contains(t, strings.Join(faultsOf(t, c), "\n"), says)
			return
		}
	}
	t.Fatalf("there is no case %s", name)
}

type state = conformance.State

// careless are servers that break one rule of writes each, and the case that must find it.
var careless = []struct {
	name, found, says string
	change            func(s server, f *fixture)
}{
	{"create keeps what it must not", "CreateAssigns", "what was created is", func(_ server, f *fixture) {
		create := f.Create
		f.Create = func(ctx context.Context, d state) (state, error) {
			d, err := create(ctx, d)
			d.Deleted = true
			return d, err
		}
	}},
	{"create keeps the identity", "CreateAssigns", "listed is", func(s server, f *fixture) {
		create := f.Create
		f.Create = func(ctx context.Context, d state) (state, error) {
			d, err := create(ctx, d)
			d.UID = "another"
			return d, err
		}
	}},
	{"create overwrites", "CreateTwice", "create of what is there: got error <nil>", func(s server, f *fixture) {
		f.Create = verb(s.Put)
	}},
	{"create takes a version", "CreateWithVersion", "create with a version was taken", func(s server, f *fixture) {
		f.Create = verb(s.Put)
	}},
	{"conflict of another code", "UpdateConflicts", "of code 422, want code 409", func(_ server, f *fixture) {
		f.Code = func(error) int { return 422 }
	}},
	{"update ignores conditions", "UpdateConflicts", "update of an old version: got error <nil>", func(s server, f *fixture) {
		f.Update = verb(s.Put)
	}},
	{"update is a new object", "UpdateWithoutVersion", "update made", func(s server, f *fixture) {
		f.Update = func(ctx context.Context, d state) (state, error) {
			return state{}, errors.Join(f.Delete(ctx, d), s.Seed(write(d)))
		}
	}},
	{"update creates", "UpdateMissing", "update of what never was: got error <nil>", func(s server, f *fixture) {
		f.Update = verb(s.Put)
	}},
	{"update always makes a version", "UpdateNothing", "an update without a change made version", func(s server, f *fixture) {
		f.Update = verb(func(o object) (object, error) {
			touched := o.Clone()
			touched.Labels = map[string]string{"at": s.Version()}
			return s.Update(touched)
		})
	}},
	{"update clears the deletion time", "UpdateDeletionTime", "an update cleared the deletion time", func(s server, f *fixture) {
		f.Update = func(ctx context.Context, d state) (state, error) {
			_, _ = s.Put(&fakes.Object{Meta: listwatch.Meta{Namespace: d.Key.Namespace, Name: d.Key.Name}})
			_, _ = s.Delete(d.Key, fakes.Preconditions{})
			return d, s.Seed(write(d))
		}
	}},
	{"update sets the deletion time", "UpdateDeletionTime", "an update set the deletion time", func(s server, f *fixture) {
		f.Update = func(ctx context.Context, d state) (state, error) {
			_ = f.Delete(ctx, d)
			return d, nil
		}
	}},
	{"status without conditions", "StatusConflicts", "status update of an old version: got error <nil>", func(s server, f *fixture) {
		f.UpdateStatus = verb(s.Put)
	}},
	{"delete ignores conditions", "DeletePreconditions", "delete of an old version: got error <nil>", func(s server, f *fixture) {
		f.Delete = func(_ context.Context, d state) error {
			_, err := s.Delete(d.Key, fakes.Preconditions{})
			return err
		}
	}},
	{"delete of nothing succeeds", "DeleteMissing", "delete of what never was: got error <nil>", func(s server, f *fixture) {
		f.Delete = func(_ context.Context, d state) error {
			_, _ = s.Delete(d.Key, fakes.Preconditions{})
			return nil
		}
	}},
	{"finalizers not kept", "DeleteWithFinalizers", "objects are listed instead of one", func(s server, f *fixture) {
		create := f.Create
		f.Create = func(ctx context.Context, d state) (state, error) {
			d.Finalizers = nil
			return create(ctx, d)
		}
	}},
	{"seeds anything", "SeedDeletedWithoutFinalizers", "was taken", func(s server, f *fixture) {
		f.Seed = func(_ context.Context, d state) error {
			_, err := s.Put(write(d))
			return err
		}
	}},
	{"writes fail", "ListAll", "create a: refused", func(_ server, f *fixture) {
		f.Create = func(context.Context, state) (state, error) { return state{}, errors.New("refused") }
	}},
	{"position stays behind for good", "WatchBookmark", "a bookmark did not come", func(s server, f *fixture) {
		f.StaysBehind = true
		f.Source = one(s, func(e *listwatch.Event[object]) bool {
			if unmoved(e); e.Type == listwatch.Bookmark {
				e.ResourceVersion = "1"
			}
			return true
		})
	}},
	{"old versions told after a position that stays behind", "WatchDeleted", "a watch from a deletion: got", func(s server, f *fixture) {
		f.StaysBehind = true
		f.Source = funcs{ListFunc: s.List, WatchFunc: func(ctx context.Context, o listwatch.WatchOptions, each func(...listwatch.Event[object]) error) error {
			o.ResourceVersion = "1"
			return one(s, unmoved).Watch(ctx, o, each)
		}}
	}},
	{"pages without a limit", "ListPagesOfOneState", "pages with writes between: got", func(s server, f *fixture) {
		f.Source = asked(s, func(o *listwatch.ListOptions) { o.Limit = 2 })
	}},
	{"a page where all was asked for", "ListOrder", "a list without a limit has a further page", func(s server, f *fixture) {
		f.Source = asked(s, func(o *listwatch.ListOptions) { o.Limit = 2 })
	}},
}

func TestFindsCarelessServers(t *testing.T) {
	for _, c := range careless {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			reports(t, c.found, c.says, func(conformance.TB) fixture {
				var s server
				f := of(options(), func(made server) listwatch.ListerWatcher[object] { s = made; return made })
				c.change(s, &f)
				return f
			})
		})
	}
}
