package pair

import (
	"context"
	"iter"
	"maps"
	"net/http"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/seed3bce33ad/listwatch"
)

// Form is in which form client-go's side reads objects.
type Form int

// The forms: a type of its own for each kind, maps, and metadata alone.
const (
	Typed Form = iota
	Untyped
	Metadata
)

// Theirs is client-go's side: a shared informer with one handler. Namespaces of the [Spec] are
// chosen from all that it holds, as it has no form for several of them.
type Theirs struct {
	spec     *Spec
	informer cache.SharedIndexInformer
	fences   fences
	close    func() // idle connections
	cancel   context.CancelFunc
	run      sync.WaitGroup

	events, lists, watches atomic.Int64
}

// NewTheirs starts a shared informer.
func NewTheirs(s *Spec, a Access, form Form) (*Theirs, error) {
	t := &Theirs{spec: s}
	config := a.config()
	config.WrapTransport = func(next http.RoundTripper) http.RoundTripper { return &counted{next, t} }
	var err error
	if t.informer, t.close, err = newInformer(s, config, form); err != nil {
		return nil, err
	}
	if _, err := t.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    t.told,
		UpdateFunc: func(_, object any) { t.told(object) },
		DeleteFunc: func(any) { t.events.Add(1) },
	}); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.cancel = cancel
	t.run.Go(func() { t.informer.RunWithContext(ctx) })
	return t, nil
}

func (a Access) config() *restclient.Config {
	c := &restclient.Config{
		Host: "https://" + a.Address, QPS: -1, BearerTokenFile: a.TokenFile,
		TLSClientConfig: restclient.TLSClientConfig{CAFile: a.CAFile},
	}
	if a.HTTP1 {
		c.NextProtos = []string{"http/1.1"}
	}
	return c
}

// NewInformer returns client-go's informer of a pair, which has no handler and does not run.
func NewInformer(s *Spec, a Access, form Form) (cache.SharedIndexInformer, error) {
	i, _, err := newInformer(s, a.config(), form)
	return i, err
}

// newInformer returns an informer, and what closes its idle connections.
func newInformer(s *Spec, config *restclient.Config, form Form) (i cache.SharedIndexInformer, closeIdle func(), err error) {
	client, err := restclient.HTTPClientFor(config)
	if err != nil {
		return nil, nil, err
	}
	tweak := func(o *metav1.ListOptions) {
		o.LabelSelector, o.FieldSelector = s.labelSelector(), s.fieldSelector()
		if s.Page > 0 {
			s.paged(o)
		}
	}
	switch form {
	case Typed:
		c, err := kubernetes.NewForConfigAndClient(config, client)
		if err != nil {
			return nil, nil, err
		}
		f := informers.NewSharedInformerFactoryWithOptions(c, 0, informers.WithTweakListOptions(tweak))
		g, err := f.ForResource(s.Kind.Resource)
		if err != nil {
			return nil, nil, err
		}
		i = g.Informer()
	case Untyped:
		c, err := dynamic.NewForConfigAndClient(config, client)
		if err != nil {
			return nil, nil, err
		}
		i = dynamicinformer.NewFilteredDynamicInformer(c, s.Kind.Resource, "", 0, cache.Indexers{}, tweak).Informer()
	default:
		c, err := metadata.NewForConfigAndClient(config, client)
		if err != nil {
			return nil, nil, err
		}
		i = metadatainformer.NewFilteredMetadataInformer(c, s.Kind.Resource, "", 0, cache.Indexers{}, tweak).Informer()
	}
	return i, client.CloseIdleConnections, nil
}

// paged turns requests of client-go into pages of the latest state: a streaming list is made one
// that the server refuses, and a list one without the version "0", with which pages are not looked at.
func (s *Spec) paged(o *metav1.ListOptions) {
	switch {
	case o.SendInitialEvents != nil:
		o.ResourceVersionMatch = ""
	case o.Continue != "":
		o.Limit = s.Page
	case !o.AllowWatchBookmarks:
		o.ResourceVersion, o.ResourceVersionMatch, o.Limit = "", "", s.Page
	}
}

func (t *Theirs) told(object any) {
	t.events.Add(1)
	if m, err := meta.Accessor(object); err == nil {
		t.fences.note(listwatch.Key{Namespace: m.GetNamespace(), Name: m.GetName()}, m.GetAnnotations())
	}
}

// Synced blocks until the first list is in the cache.
func (t *Theirs) Synced(ctx context.Context) error {
	select {
	case <-t.informer.HasSyncedChecker().Done():
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Wait blocks until the fences numbered n have been told.
func (t *Theirs) Wait(ctx context.Context, n int64) error {
	return t.fences.wait(ctx, n, t.spec.fences())
}

// Bodies returns what the cache holds.
func (t *Theirs) Bodies() (map[listwatch.Key]Body, error) {
	all, err := BodiesOf(Stored(t.informer))
	maps.DeleteFunc(all, func(key listwatch.Key, b Body) bool { return !t.spec.Matches(key, b) })
	return all, err
}

// Stored yields what an informer of client-go holds.
func Stored(i cache.SharedIndexInformer) iter.Seq2[listwatch.Key, any] {
	return func(yield func(listwatch.Key, any) bool) {
		for _, object := range i.GetStore().List() {
			m, err := meta.Accessor(object)
			if err != nil {
				panic(err) // an informer could not have stored it
			}
			if !yield(listwatch.Key{Namespace: m.GetNamespace(), Name: m.GetName()}, object) {
				return
			}
		}
	}
}

// Counts returns what was done so far.
func (t *Theirs) Counts() Counts {
	return Counts{Events: t.events.Load(), Lists: t.lists.Load(), Watches: t.watches.Load()}
}

// Stop ends the informer.
func (t *Theirs) Stop() {
	t.cancel()
	t.run.Wait()
	t.close()
}

// counted counts the requests of one side.
type counted struct {
	http.RoundTripper
	of *Theirs
}

func (c *counted) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Query().Has("watch") {
		c.of.watches.Add(1)
	} else {
		c.of.lists.Add(1)
	}
	return c.RoundTripper.RoundTrip(r)
}

// CloseIdleConnections lets what is wrapped be closed.
func (c *counted) CloseIdleConnections() {
	if i, ok := c.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		i.CloseIdleConnections()
	}
}
