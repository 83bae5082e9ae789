package pair

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/reflector"
	"github.com/seed3bce33ad/listwatch/reflector/rest"
)

// Tuning is what differs from the library's defaults.
type Tuning struct {
	// Reflector are the options of reading. Page and first list are set by the [Spec].
	Reflector reflector.Options
	// Rest are the options of the source. Access and selection are set by [Access] and [Spec].
	Rest rest.Options
	// Wrap puts something around the transport, which then has no pings. Defaults to nothing.
	Wrap func(http.RoundTripper) http.RoundTripper
	// Logger hears failures. Defaults to nobody.
	Logger *slog.Logger
}

// Ours is the library's side: an informer with one handler, whose calls are checked.
type Ours[T listwatch.Object] struct {
	spec     *Spec
	informer *informer.Informer[T]
	recorder fakes.Recorder[T]
	fences   fences
	close    func() // idle connections
	cancel   context.CancelFunc
	run      sync.WaitGroup

	events, expired, denied atomic.Int64
}

// NewOurs starts an informer of T.
func NewOurs[T listwatch.Object](s *Spec, a Access, tune Tuning) (*Ours[T], error) {
	source, err := NewSource[T](s, a, tune)
	if err != nil {
		return nil, err
	}
	o := &Ours[T]{spec: s, close: source.CloseIdleConnections}
	if s.Page > 0 {
		tune.Reflector.FirstList, tune.Reflector.PageSize = reflector.FirstPages, s.Page
	}
	if tune.Logger == nil {
		tune.Logger = slog.New(slog.DiscardHandler)
	}
	o.informer = informer.New(source, informer.Options{
		Name: s.Name, Logger: tune.Logger, OnError: o.failed, Reflector: tune.Reflector,
	})
	ctx, cancel := context.WithCancel(context.Background())
	o.cancel = cancel
	if _, err := o.informer.AddHandler(ctx, o.handle, informer.HandlerOptions{}); err != nil {
		cancel()
		return nil, err
	}
	o.run.Go(func() {
		if err := o.informer.Run(ctx); err != nil {
			panic(err) // it cannot be running already
		}
	})
	return o, nil
}

// NewSource returns the library's source of a pair.
func NewSource[T listwatch.Object](s *Spec, a Access, tune Tuning) (*rest.Source[T], error) {
	o := tune.Rest
	ca, err := os.ReadFile(a.CAFile)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	config := &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	switch {
	case a.HTTP1:
		o.Client = &http.Client{Transport: &http.Transport{TLSClientConfig: config}}
	case tune.Wrap != nil:
		o.Client = &http.Client{Transport: tune.Wrap(&http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true})}
	default:
		o.TLS = config
	}
	o.TokenFile, o.Namespaces, o.MetadataOnly = a.TokenFile, s.Namespaces, s.Metadata
	o.LabelSelector, o.FieldSelector = s.labelSelector(), s.fieldSelector()
	gv := s.Kind.Resource.GroupVersion().String()
	path := "/apis/" + gv
	if s.Kind.Resource.Group == "" {
		path = "/api/" + gv
	}
	return rest.New[T](fmt.Sprintf("https://%s%s/%s", a.Address, path, s.Kind.Resource.Resource), o)
}

func (o *Ours[T]) handle(ctx context.Context, c informer.Change[T]) {
	o.events.Add(1)
	o.recorder.Handle(ctx, c)
	o.recorder.Forget() // what is held and what was broken stays
	if c.Type != informer.Delete {
		o.fences.note(c.Key, annotations(c.Object))
	}
}

func annotations(object any) map[string]string {
	switch object := object.(type) {
	case metav1.Object:
		return object.GetAnnotations()
	case rest.Object:
		return object.GetAnnotations()
	}
	return nil
}

func (o *Ours[T]) failed(err error) {
	switch {
	case errors.Is(err, listwatch.ErrExpired):
		o.expired.Add(1)
	case errors.Is(err, listwatch.ErrUnauthorized), errors.Is(err, listwatch.ErrForbidden):
		o.denied.Add(1)
	}
}

// Wait blocks until the fences numbered n have been told.
func (o *Ours[T]) Wait(ctx context.Context, n int64) error {
	if err := o.fences.wait(ctx, n, o.spec.fences()); err != nil {
		h := o.informer.Health()
		return fmt.Errorf("%s: %w; state %s, last error: %w", o.spec.Name, err, h.Source.State, h.Source.LastError)
	}
	return nil
}

// Synced blocks until the first list is in the store.
func (o *Ours[T]) Synced(ctx context.Context) error { return o.informer.WaitForSync(ctx) }

// Bodies returns what the store holds.
func (o *Ours[T]) Bodies() (map[listwatch.Key]Body, error) {
	return BodiesOf(o.informer.Indexer().All())
}

// Counts returns what was done so far.
func (o *Ours[T]) Counts() Counts {
	h := o.informer.Health()
	return Counts{
		Events: o.events.Load(), Lists: int64(h.Source.Lists), Watches: int64(h.Source.Watches),
		Compares: int64(h.Source.Compares), Expired: o.expired.Load(), Denied: o.denied.Load(),
		Drift: int64(h.Drift), Gaps: int64(h.Source.Gaps), Refused: int64(len(h.Source.Refused)), Restores: int64(h.Source.Restores),
	}
}

// Fault returns which promise was broken to the handler, and whether what it was told is not
// what the store holds.
func (o *Ours[T]) Fault() error {
	err := o.recorder.Err()
	held := o.recorder.Held()
	if n := o.informer.Indexer().Len(); n != len(held) {
		err = errors.Join(err, fmt.Errorf("%s: the handler knows %d objects, the store has %d", o.spec.Name, len(held), n))
	}
	for key, object := range held {
		if stored, ok := o.informer.Indexer().Get(key); !ok || stored.GetResourceVersion() != object.GetResourceVersion() {
			err = errors.Join(err, fmt.Errorf("%s: the handler knows another %s than the store", o.spec.Name, key))
		}
	}
	return err
}

// Restored says that the server was taken back.
func (o *Ours[T]) Restored() { o.recorder.Restored() }

// Stop ends the informer.
func (o *Ours[T]) Stop() {
	o.cancel()
	o.run.Wait()
	o.close()
}
