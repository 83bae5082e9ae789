// Package pair runs one informer of the library beside one of client-go's over the same objects,
// and compares what they hold with what the server and its etcd hold.
package pair

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/e2e/churn"
)

// Spec says which objects a pair is about, and how it reads them.
type Spec struct {
	// Name is what the pair is called.
	Name string
	// Kind is the kind of its objects.
	Kind *churn.Kind
	// Namespaces restricts it to some. Defaults to all.
	Namespaces []string
	// Label selects objects by the value of their label "app". Defaults to all.
	Label string
	// Node selects pods by the node that they are on. Defaults to all.
	Node string
	// Metadata says that it reads the objects' metadata alone. Defaults to whole objects.
	Metadata bool
	// Page lets it list in pages of that size. Defaults to one stream.
	Page int64
}

// Matches reports whether an object belongs to the pair.
func (s *Spec) Matches(key listwatch.Key, o Body) bool {
	metadata, _ := o["metadata"].(map[string]any)
	labels, _ := metadata["labels"].(map[string]any)
	spec, _ := o["spec"].(map[string]any)
	return (len(s.Namespaces) == 0 || slices.Contains(s.Namespaces, key.Namespace)) &&
		(s.Label == "" || labels["app"] == s.Label) && (s.Node == "" || spec["nodeName"] == s.Node)
}

// fences are the keys of the fences that the pair can see.
func (s *Spec) fences() []listwatch.Key {
	switch {
	case s.Kind.Cluster:
		return []listwatch.Key{{Name: churn.FenceName}}
	case len(s.Namespaces) > 0:
		return keysIn(s.Namespaces)
	}
	return keysIn(churn.Namespaces)
}

func keysIn(namespaces []string) []listwatch.Key {
	var keys []listwatch.Key
	for _, n := range namespaces {
		keys = append(keys, listwatch.Key{Namespace: n, Name: churn.FenceName})
	}
	return keys
}

func (s *Spec) labelSelector() string {
	if s.Label == "" {
		return ""
	}
	return "app=" + s.Label
}

func (s *Spec) fieldSelector() string {
	if s.Node == "" {
		return ""
	}
	return "spec.nodeName=" + s.Node
}

// Access is how informers reach the server.
type Access struct {
	// Address is host:port.
	Address string
	// CAFile is the path of the certificate authority, TokenFile that of the token.
	CAFile, TokenFile string
	// HTTP1 keeps to HTTP/1.1, where nothing pings a silent connection.
	HTTP1 bool
}

// Counts are what one side has done so far. The library's side knows all of them, client-go's
// Events, Lists and Watches.
type Counts struct {
	// Events are the calls of the handler.
	Events int64
	// Lists and Watches are requests; of the library's, Lists are complete ones, not pages.
	Lists, Watches int64
	// Compares are the comparing lists beside a watch.
	Compares int64
	// Expired, Denied are failures by class: 410, and 401 or 403.
	Expired, Denied int64
	// Drift, Gaps, Refused and Restores are those of informer.Health.
	Drift, Gaps, Refused, Restores int64
}

// Side is one cache of a pair. All methods are safe for concurrent use.
type Side interface {
	// Wait blocks until the fences numbered n have been told to the handler, in all namespaces.
	Wait(ctx context.Context, n int64) error
	// Synced blocks until the first list is in the cache.
	Synced(ctx context.Context) error
	// Bodies returns what the cache holds.
	Bodies() (map[listwatch.Key]Body, error)
	// Counts returns what was done so far.
	Counts() Counts
	// Stop ends the informer, and blocks until it has ended.
	Stop()
}

// Pair is two caches of the same objects.
type Pair struct {
	// Spec says of which.
	Spec *Spec
	// Ours is the library's side, Theirs client-go's.
	Ours, Theirs Side
	// Fault returns which promise the library's side has broken to its handler; nil: none.
	Fault func() error
	// Restored says that the server was taken back to an older state.
	Restored func()
}

// Stop stops both sides.
func (p *Pair) Stop() {
	p.Ours.Stop()
	p.Theirs.Stop()
}

// Body is the JSON of an object, without apiVersion and kind: a list of a built-in kind leaves
// them out of its items.
type Body map[string]any

// bodyOf returns the body of any object.
func bodyOf(object any) (Body, error) {
	data, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	return parse(data)
}

// BodiesOf returns the bodies of objects.
func BodiesOf[T any](objects iter.Seq2[listwatch.Key, T]) (map[listwatch.Key]Body, error) {
	out := map[listwatch.Key]Body{}
	for key, object := range objects {
		body, err := bodyOf(object)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		out[key] = body
	}
	return out, nil
}

func parse(data []byte) (Body, error) {
	b := Body{}
	if err := json.Unmarshal(data, &b); err != nil {
		return nil, fmt.Errorf("body: %w", err)
	}
	delete(b, "apiVersion")
	delete(b, "kind")
	return b, nil
}
