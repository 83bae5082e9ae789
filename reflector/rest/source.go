package rest

import (
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"sync"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/internal/json"
	"github.com/seed3bce33ad/listwatch/internal/jsonstream"
)

// Source is a [listwatch.ListerWatcher] of one collection of a Kubernetes API server. It never
// retries, and keeps nothing but the connections of its client, its token, the kind that it
// has learnt and, with several namespaces, the positions of its last watch. It has no end of
// its own: what runs ends with the context of the call.
//
// It is safe for concurrent use; a source of several namespaces is for one consumer. Make it
// with [New].
type Source[T listwatch.Object] struct {
	o        Options
	endpoint *endpoint
	paths    []string // of the collection: one, or one a namespace
	make     func([]byte) (T, error)

	mu     sync.Mutex
	kind   string // guarded by mu: the kind once it is known
	resume resume // guarded by mu
}

// New returns a source of the collection at address, which is that of the whole collection,
// such as "https://host:6443/apis/apps/v1/deployments". One of a single namespace may be given
// as well, instead of [Options.Namespaces]. No request is sent yet.
//
// T is a pointer to a struct, a struct, a map type, or [Object]; a new value is decoded for each
// object. Its getters must say what the wire has under metadata. All faults of
// address and o are reported at once.
func New[T listwatch.Object](address string, o Options) (*Source[T], error) {
	base, err := parse(address)
	decoder, decodeErr := json.New(json.Options{Skip: o.Skip, Integers: true})
	switch t := reflect.TypeFor[T](); {
	case t.Kind() == reflect.Interface:
		err = errors.Join(err, fmt.Errorf("%s is an interface: nothing can be decoded into it", t))
	case t == reflect.TypeFor[*Object]():
		err = errors.Join(err, fmt.Errorf("%s is a pointer to a pointer: Object is used by value", t))
	}
	err = errors.Join(err, o.validate(), decodeErr)
	var paths []string
	if err == nil {
		paths, err = collections(base.Path, o.Namespaces)
	}
	if err != nil {
		if u, parseErr := url.Parse(address); parseErr == nil {
			address = u.Redacted()
		}
		return nil, fmt.Errorf("rest %q: %w", address, err)
	}
	o = o.withDefaults()
	return &Source[T]{o: o, endpoint: newEndpoint(base, o), paths: paths, make: maker[T](o, decoder), kind: wireKind(o)}, nil
}

// maker returns the function that makes an object of its JSON.
func maker[T listwatch.Object](o Options, decoder *json.Decoder) func([]byte) (T, error) {
	var zero T
	decode := o.Decode
	switch _, untyped := any(zero).(Object); {
	case decode == nil && untyped:
		without := jsonstream.NewPaths(o.Skip)
		return func(data []byte) (T, error) {
			object, err := newObject(decoder, data, without)
			return any(object).(T), err
		}
	case decode == nil:
		decode = decoder.Unmarshal
	}
	return func(data []byte) (object T, err error) {
		err = decode(data, &object)
		return object, err
	}
}

// CloseIdleConnections closes the connections of the client that no request uses at the
// moment. The source stays usable.
func (s *Source[T]) CloseIdleConnections() { s.endpoint.client.CloseIdleConnections() }

// parse makes sure that address can be asked for.
func parse(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return nil, fmt.Errorf("not a URL: %w", err)
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("the scheme must be http or https")
	case u.Host == "":
		return nil, errors.New("no host")
	case u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("a query belongs into Options")
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	u.RawPath = ""
	switch {
	case u.Path == "":
		return nil, errors.New("no path of a collection")
	case strings.Contains(u.Path, "//"):
		return nil, errors.New("an empty path segment, which a server may take for all namespaces")
	}
	return u, nil
}

// collections returns the paths of the collection in each of the namespaces.
func collections(path string, namespaces []string) ([]string, error) {
	if len(namespaces) == 0 {
		return []string{path}, nil
	}
	segments := strings.Split(path, "/")
	n := len(segments)
	if n > 2 && segments[n-3] == "namespaces" {
		return nil, errors.New("the path has a namespace already, and Namespaces is set")
	}
	paths := make([]string, 0, len(namespaces))
	for _, namespace := range namespaces {
		paths = append(paths, strings.Join(segments[:n-1], "/")+"/namespaces/"+namespace+"/"+segments[n-1])
	}
	return paths, nil
}

// kinds returns what is known of the kind.
func (s *Source[T]) kinds() kinds {
	s.mu.Lock()
	defer s.mu.Unlock()
	return kinds{want: s.kind, list: s.o.ListKind, partial: s.o.MetadataOnly}
}

// learn keeps the kind that a sound answer had.
func (s *Source[T]) learn(kind string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kind == "" {
		s.kind = kind
	}
}
