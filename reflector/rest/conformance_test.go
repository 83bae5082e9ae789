package rest_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/fakes/conformance"
	"github.com/seed3bce33ad/listwatch/fakes/wire"
	"github.com/seed3bce33ad/listwatch/reflector/rest"
)

// things is the fake server's form of a collection.
var things = wire.Options[*fakes.Object]{Kind: "Thing", Resource: "things"}

func served(t *testing.T, o fakes.Options[*fakes.Object], namespaces ...string) conformance.Fixture[*fakes.Object] {
	o.Finalizers, o.Deleted = fakes.ObjectFinalizers, fakes.ObjectDeleted
	fake := fakes.New(fakes.StampObject, o)
	server := httptest.NewServer(wire.NewServer(fake, things))
	t.Cleanup(server.Close)
	source, err := rest.New[*fakes.Object](server.URL+"/apis/example.com/v1/things", rest.Options{Client: server.Client(), Namespaces: namespaces})
	if err != nil {
		t.Fatal(err)
	}
	object := func(s conformance.State) *fakes.Object {
		return &fakes.Object{Meta: listwatch.Meta{Namespace: s.Key.Namespace, Name: s.Key.Name, UID: s.UID, ResourceVersion: s.ResourceVersion}, Value: s.Value, Finalizers: s.Finalizers}
	}
	read := func(o *fakes.Object) conformance.State {
		return conformance.State{Key: listwatch.KeyOf(o), UID: o.UID, ResourceVersion: o.ResourceVersion, Value: o.Value, Finalizers: o.Finalizers, Deleted: !o.Deleted.IsZero()}
	}
	verb := func(f func(*fakes.Object) (*fakes.Object, error)) func(context.Context, conformance.State) (conformance.State, error) {
		return func(_ context.Context, s conformance.State) (conformance.State, error) {
			o, err := f(object(s))
			if err != nil {
				return conformance.State{}, err
			}
			return read(o), nil
		}
	}
	return conformance.Fixture[*fakes.Object]{
		Source: source, Read: read, Create: verb(fake.Create), Update: verb(fake.Update),
		Delete: func(_ context.Context, d conformance.State) error {
			_, err := fake.Delete(d.Key, fakes.Preconditions{UID: d.UID, ResourceVersion: d.ResourceVersion})
			return err
		},
		Expire:     func(context.Context) error { return fake.Compact(fake.Version()) },
		Bookmark:   func(context.Context) error { fake.Bookmark(); return nil },
		Namespaces: namespaces, StaysBehind: len(namespaces) > 1,
		Close: server.Close,
	}
}

// The suite of all sources, over HTTP: of the whole collection, of one namespace, and of several,
// with those that nothing happens in before and behind the one that is written to.
func TestConformance(t *testing.T) {
	for name, o := range map[string]fakes.Options[*fakes.Object]{"server": {}, "old server": {NoInitialEvents: true, ExpiredStatus: true}} {
		for _, namespaces := range [][]string{nil, {"a"}, {"a", "b"}, {"b", "a", "c"}} {
			for _, c := range conformance.Cases(func(tb conformance.TB) conformance.Fixture[*fakes.Object] {
				o := o
				if len(namespaces) > 1 {
					// The suite can't know when all the watches of one run.
					o.BookmarkEvery = 20 * time.Millisecond
				}
				f := served(tb.(*testing.T), o, namespaces...)
				if len(namespaces) > 2 {
					f.Namespaces = namespaces[1:]
				}
				return f
			}) {
				t.Run(strings.Join(append([]string{name}, namespaces...), "_")+"/"+c.Name, func(t *testing.T) { c.Run(t) })
			}
		}
	}
}
