package rest_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/fakes/conformance"
	"github.com/seed3bce33ad/listwatch/reflector/rest"
)

// thing is an object of the fake server on the wire.
type thing struct {
	Kind           string `json:"kind"`
	listwatch.Meta `json:"metadata"`
	Value          string   `json:"value"`
	Finalizers     []string `json:"finalizers,omitempty"`
	Deleted        bool     `json:"deleted,omitempty"`
}

func wired(o *fakes.Object) *thing {
	return &thing{Kind: "Thing", Meta: o.Meta, Value: o.Value, Finalizers: o.Finalizers, Deleted: !o.Deleted.IsZero()}
}

// overHTTP serves a fake source as an API server serves a collection, or a namespace of it.
type overHTTP struct {
	*fakes.Source[*fakes.Object]
}

// of returns what is at a path.
func (h overHTTP) of(path string) listwatch.ListerWatcher[*fakes.Object] {
	_, inside, found := strings.Cut(path, "/namespaces/")
	if !found {
		return h.Source
	}
	namespace, _, _ := strings.Cut(inside, "/")
	return h.Select(func(o *fakes.Object) bool { return o.Namespace == namespace })
}

func (h overHTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Query().Has("watch") {
		h.watch(w, r)
		return
	}
	query := r.URL.Query()
	limit, _ := strconv.ParseInt(query.Get("limit"), 10, 64)
	o := listwatch.ListOptions{ResourceVersion: query.Get("resourceVersion"), Limit: limit, Continue: query.Get("continue")}
	o.Match = map[string]listwatch.Match{"NotOlderThan": listwatch.MatchNotOlder, "Exact": listwatch.MatchExact}[query.Get("resourceVersionMatch")]
	items := []*thing{}
	meta, err := h.of(r.URL.Path).List(r.Context(), o, func(objects ...*fakes.Object) error {
		for _, object := range objects {
			items = append(items, wired(object))
		}
		return nil
	})
	if err != nil {
		status, code := wiredStatus(err)
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(status)
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"kind": "ThingList", "items": items, "metadata": map[string]any{
		"resourceVersion": meta.ResourceVersion, "continue": meta.Continue, "remainingItemCount": meta.Remaining,
	}})
}

func (h overHTTP) watch(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	started := false
	send := func(kind string, object any) {
		started = true
		_ = json.NewEncoder(w).Encode(map[string]any{"type": kind, "object": object})
	}
	o := listwatch.WatchOptions{ResourceVersion: query.Get("resourceVersion"), InitialEvents: query.Get("sendInitialEvents") == "true"}
	err := h.of(r.URL.Path).Watch(r.Context(), o, func(events ...listwatch.Event[*fakes.Object]) error {
		for _, e := range events {
			switch e.Type {
			case listwatch.Bookmark, listwatch.Synced:
				mark := strconv.FormatBool(e.Type == listwatch.Synced)
				send("BOOKMARK", map[string]any{"kind": "Thing", "metadata": map[string]any{
					"resourceVersion": e.ResourceVersion, "annotations": map[string]any{"k8s.io/initial-events-end": mark},
				}})
			default:
				object := wired(e.Object)
				if e.Type == listwatch.Deleted && e.ResourceVersion != "" {
					object.ResourceVersion = e.ResourceVersion
				}
				send(strings.ToUpper(e.Type.String()), object)
			}
		}
		w.(http.Flusher).Flush()
		return nil
	})
	if err == nil || r.Context().Err() != nil {
		return
	}
	status, code := wiredStatus(err)
	var known *listwatch.StatusError
	if started || errors.As(err, &known) && known.Event {
		send("ERROR", status)
		return
	}
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(status)
}

func wiredStatus(err error) (status map[string]any, code int) {
	known := &listwatch.StatusError{Code: http.StatusUnprocessableEntity, Message: err.Error()}
	errors.As(err, &known)
	status = map[string]any{"kind": "Status", "status": "Failure", "code": known.Code, "reason": known.Reason, "message": known.Message}
	if errors.Is(err, listwatch.ErrTooLargeVersion) {
		status["details"] = map[string]any{"causes": []any{map[string]any{"reason": "ResourceVersionTooLarge"}}}
	}
	return status, known.Code
}

func served(t *testing.T, o fakes.Options[*fakes.Object], namespaces ...string) conformance.Fixture[*thing] {
	o.Finalizers, o.Deleted = fakes.ObjectFinalizers, fakes.ObjectDeleted
	fake := fakes.New(fakes.StampObject, o)
	server := httptest.NewServer(overHTTP{fake})
	t.Cleanup(server.Close)
	source, err := rest.New[*thing](server.URL+"/apis/example.com/v1/things", rest.Options{Client: server.Client(), Namespaces: namespaces})
	if err != nil {
		t.Fatal(err)
	}
	object := func(s conformance.State) *fakes.Object {
		return &fakes.Object{Meta: listwatch.Meta{Namespace: s.Key.Namespace, Name: s.Key.Name, UID: s.UID, ResourceVersion: s.ResourceVersion}, Value: s.Value, Finalizers: s.Finalizers}
	}
	read := func(o *thing) conformance.State {
		return conformance.State{Key: listwatch.KeyOf(o), UID: o.UID, ResourceVersion: o.ResourceVersion, Value: o.Value, Finalizers: o.Finalizers, Deleted: o.Deleted}
	}
	verb := func(f func(*fakes.Object) (*fakes.Object, error)) func(context.Context, conformance.State) (conformance.State, error) {
		return func(_ context.Context, s conformance.State) (conformance.State, error) {
			o, err := f(object(s))
			if err != nil {
				return conformance.State{}, err
			}
			return read(wired(o)), nil
		}
	}
	return conformance.Fixture[*thing]{
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
			for _, c := range conformance.Cases(func(tb conformance.TB) conformance.Fixture[*thing] {
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
