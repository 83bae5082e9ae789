package wire

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/benbjohnson/clock"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/internal/timing"
)

// Options say what a [Server] is the server of. The zero value works for objects that
// encoding/json turns into what a Kubernetes API server sends, with its metadata under "metadata",
// such as [fakes.Object].
type Options[T listwatch.Object] struct {
	// Kind is the kind of the objects. Defaults to "Object".
	Kind string
	// APIVersion is the group and version of the kind. Defaults to "example.com/v1".
	APIVersion string
	// Resource is the last segment of the collection's path. Defaults to "objects".
	Resource string
	// BuiltIn gives lists the form of kinds that are built into Kubernetes: the metadata first,
	// items without a kind. Defaults to the form of custom resources: the metadata last.
	BuiltIn bool
	// Encode returns the JSON of an object with its metadata under "metadata"; kind and apiVersion
	// may be left out. It is called by several goroutines at once. An error, or JSON without
	// metadata, answers 500 with the reason, or breaks a list that has begun. Defaults to json.Marshal.
	Encode func(T) ([]byte, error)
	// Select reads the selectors of a request, either of which may be empty. An error answers 400.
	// Defaults to a server that takes no selectors.
	Select func(labels, fields string) (func(T) bool, error)
	// OversizeBytes is how much longer than it should be an object is made by
	// [fakes.FaultOversize]: more than the client takes. Defaults to 17 MiB.
	OversizeBytes int
	// Clock is what time is read from. Defaults to the real clock.
	Clock clock.Clock
}

func (o Options[T]) withDefaults() Options[T] {
	if o.Kind == "" {
		o.Kind = "Object"
	}
	if o.APIVersion == "" {
		o.APIVersion = "example.com/v1"
	}
	if o.Resource == "" {
		o.Resource = "objects"
	}
	if o.Encode == nil {
		o.Encode = marshal[T]
	}
	if o.Select == nil {
		o.Select = func(labels, fields string) (func(T) bool, error) {
			return nil, errors.New("selectors are not supported: " + labels + fields)
		}
	}
	if o.OversizeBytes == 0 {
		o.OversizeBytes = 17 << 20
	}
	o.Clock = timing.Or(o.Clock)
	return o
}

func (o Options[T]) validate() error {
	if o.OversizeBytes < 0 {
		return errors.New("Options.OversizeBytes is " + strconv.Itoa(o.OversizeBytes) + ", less than 0")
	}
	return nil
}

// Server answers lists and watches of a [fakes.Source] over HTTP, as a Kubernetes API server
// does in JSON. It is a [fakes.Faulty]: the faults of bytes and headers are its own, those of a
// source it passes on.
//
// It serves any path that ends with Options.Resource; what is in one of the form
// …/namespaces/<name>/<resource> is that namespace alone. It has no goroutine of its own. It is
// safe for concurrent use. The zero value is not usable, use [NewServer].
type Server[T listwatch.Object] struct {
	o      Options[T]
	source *fakes.Source[T]

	mu     sync.Mutex
	orders []fakes.Fault // guarded by mu: what waits for answers to come
}

// NewServer returns a server of source, whose objects Options.Encode turns into JSON with its
// metadata under "metadata". It panics when o is invalid.
func NewServer[T listwatch.Object](source *fakes.Source[T], o Options[T]) *Server[T] {
	if err := o.validate(); err != nil {
		panic("wire: " + err.Error())
	}
	return &Server[T]{o: o.withDefaults(), source: source}
}

// ServeHTTP answers one request. It blocks while a watch runs. A broken connection is a panic with
// [http.ErrAbortHandler], as net/http wants it.
func (s *Server[T]) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	watch := query.Has("watch") && query.Get("watch") != "0" && query.Get("watch") != "false"
	a := s.answer(w, r, watch)
	selected, err := s.selected(r.URL.Path, query)
	partial, acceptable := accepts(r.Header.Get("Accept"), watch)
	switch {
	case selected == nil && err == nil:
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte("404 page not found\n"))
		return
	case r.Method != http.MethodGet:
		err = fakes.Status(http.StatusMethodNotAllowed, "the server does not allow this method on the requested resource")
	case !acceptable:
		err = fakes.Status(http.StatusNotAcceptable, "406: Not Acceptable\n\nAvailable representations: application/json")
	}
	a.partial = partial
	switch {
	case err != nil:
		a.refuse(err)
	case watch:
		s.watch(a, selected, query)
	default:
		s.list(a, selected, query)
	}
	a.finish()
}

// selected returns what is at a path, or nil when nothing is.
func (s *Server[T]) selected(path string, query url.Values) (listwatch.ListerWatcher[T], error) {
	segments := strings.Split(strings.Trim(path, "/"), "/")
	n := len(segments)
	if segments[n-1] != s.o.Resource {
		return nil, nil
	}
	matches := func(T) bool { return true }
	labels, fields := query.Get("labelSelector"), query.Get("fieldSelector")
	if labels != "" || fields != "" {
		var err error
		if matches, err = s.o.Select(labels, fields); err != nil {
			return nil, fakes.Status(http.StatusBadRequest, err.Error())
		}
	}
	if n >= 3 && segments[n-3] == "namespaces" {
		all, namespace := matches, segments[n-2]
		matches = func(o T) bool { return o.GetNamespace() == namespace && all(o) }
	} else if labels == "" && fields == "" {
		return s.source, nil
	}
	return s.source.Select(matches), nil
}

// accepts reports whether an Accept header asks for JSON, and for metadata alone.
func accepts(header string, watch bool) (partial, ok bool) {
	as := "as=PartialObjectMetadataList"
	if watch {
		as = "as=PartialObjectMetadata"
	}
	if header == "" {
		return false, true
	}
	for _, one := range strings.Split(header, ",") {
		parts := strings.Split(strings.ReplaceAll(one, " ", ""), ";")
		if parts[0] != "application/json" && parts[0] != "*/*" && parts[0] != "application/*" {
			continue
		}
		asked := ""
		for _, p := range parts[1:] {
			if strings.HasPrefix(p, "as=") {
				asked = p
			}
		}
		if asked == "" || asked == as {
			return asked != "", true
		}
	}
	return false, false
}
