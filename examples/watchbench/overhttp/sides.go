package overhttp

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	informers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	clientgorest "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/watchbench/server"
	"github.com/seed3bce33ad/listwatch/indexer"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/reflector"
	"github.com/seed3bce33ad/listwatch/reflector/rest"
)

// The sides.
const (
	ours           = "listwatch"
	theirs         = "client-go"
	theirsProtobuf = "client-go-protobuf"
)

// setup says what an informer is like.
type setup struct {
	// slow: a quick run has no time for it.
	slow    bool
	address server.Address
	path    string
	tls     bool
	// paged lists in pages of 500, otherwise any state as a whole.
	paged bool
	// stream asks for initial events.
	stream    bool
	protobuf  bool
	untyped   bool
	unmanaged bool // without managedFields
	// compact holds objects encoded, all but so many recent ones. The peer has no such thing.
	compact bool
	recent  int
	// wrap goes around what sends requests.
	wrap func(http.RoundTripper) http.RoundTripper
}

func (s setup) url() string {
	if s.tls {
		return s.address.HTTPS + s.path
	}
	return s.address.HTTP + s.path
}

// running is an informer that runs.
type running struct {
	cancel  context.CancelFunc
	working sync.WaitGroup
	close   func()
	err     error // of run; to be read when it has ended
}

// begin runs an informer until stop.
func begin(ctx context.Context, run func(context.Context) error, close func()) *running {
	r := &running{close: close}
	ctx, r.cancel = context.WithCancel(ctx)
	r.working.Go(func() { r.err = run(ctx) })
	return r
}

// stop ends it, and waits for that.
func (r *running) stop() error {
	r.cancel()
	r.working.Wait()
	r.close()
	if errors.Is(r.err, context.Canceled) {
		return nil
	}
	return r.err
}

// start runs an informer of a side, with an index by namespace and one handler.
func start(ctx context.Context, side string, s setup, h *handler) (*running, error) {
	switch {
	case side == ours && s.untyped:
		return startOurs[rest.Object](ctx, s, h)
	case side == ours:
		return startOurs[*corev1.Pod](ctx, s, h)
	}
	s.protobuf = side == theirsProtobuf
	return startTheirs(ctx, s, h)
}

func startOurs[T listwatch.Object](ctx context.Context, s setup, h *handler) (*running, error) {
	var o rest.Options
	if s.unmanaged {
		o.Skip = []string{"metadata.managedFields"}
	}
	switch {
	case s.wrap != nil:
		o.Client = &http.Client{Transport: s.wrap(http.DefaultTransport.(*http.Transport).Clone())}
	case s.tls:
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM([]byte(s.address.CA))
		o.TLS = &tls.Config{RootCAs: pool}
	}
	source, err := rest.New[T](s.url()+"/api/v1/pods", o)
	if err != nil {
		return nil, err
	}
	first := reflector.FirstAny
	switch {
	case s.stream:
		first = reflector.FirstStream
	case s.paged:
		first = reflector.FirstPages
	}
	options := informer.Options{
		Name: "pods", Logger: slog.New(slog.DiscardHandler), Reflector: reflector.Options{FirstList: first},
	}
	if s.compact {
		options.Index.Compact = &indexer.Compact{Recent: s.recent}
	}
	i := informer.New(source, options)
	if _, err := indexer.AddIndex(i.Indexer(), "namespace", indexer.One(T.GetNamespace)); err != nil {
		return nil, err
	}
	// Every event is delivered, as there.
	_, err = i.AddHandler(ctx, func(_ context.Context, c informer.Change[T]) {
		switch c.Type {
		case informer.Add:
			h.added()
		case informer.Update:
			h.updated(c.Object)
		case informer.Delete:
			h.deleted()
		}
	}, informer.HandlerOptions{Policy: informer.EveryEvent})
	if err != nil {
		return nil, err
	}
	return begin(ctx, i.Run, source.CloseIdleConnections), nil
}

func startTheirs(ctx context.Context, s setup, h *handler) (*running, error) {
	config := &clientgorest.Config{Host: s.url(), ContentConfig: clientgorest.ContentConfig{ContentType: "application/json"}}
	if s.protobuf {
		config.ContentType = "application/vnd.kubernetes.protobuf"
		config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	}
	if s.tls {
		config.CAData = []byte(s.address.CA)
	}
	config.Wrap(s.wrap)
	client, err := clientgorest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	i, err := s.theirInformer(config, client)
	if err != nil {
		return nil, err
	}
	if s.unmanaged {
		err = i.SetTransform(func(o any) (any, error) {
			o.(metav1.Object).SetManagedFields(nil)
			return o, nil
		})
		if err != nil {
			return nil, err
		}
	}
	_, err = i.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { h.added() },
		UpdateFunc: func(_, o any) { h.updated(o.(listwatch.Object)) },
		DeleteFunc: func(any) { h.deleted() },
	})
	if err != nil {
		return nil, err
	}
	run := func(ctx context.Context) error {
		i.RunWithContext(ctx)
		return nil
	}
	return begin(ctx, run, client.CloseIdleConnections), nil
}

// theirInformer makes what a factory of typed informers makes, or one of dynamic ones.
func (s setup) theirInformer(config *clientgorest.Config, client *http.Client) (cache.SharedIndexInformer, error) {
	tweak := func(o *metav1.ListOptions) {
		if s.paged && !o.Watch && o.ResourceVersion == "0" {
			o.ResourceVersion = "" // a server answers "0" as a whole
		}
	}
	byNamespace := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
	if s.untyped {
		c, err := dynamic.NewForConfigAndClient(config, client)
		if err != nil {
			return nil, err
		}
		pods := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
		return dynamicinformer.NewFilteredDynamicInformer(c, pods, "", time.Duration(0), byNamespace, tweak).Informer(), nil
	}
	c, err := kubernetes.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, err
	}
	return informers.NewFilteredPodInformer(c, "", 0, byNamespace, tweak), nil
}
