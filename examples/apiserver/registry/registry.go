package registry

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"github.com/benbjohnson/clock"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/cacher"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/storage"
	"github.com/seed3bce33ad/listwatch/internal/timing"
)

// Options say how a [Registry] works. The zero value works.
type Options struct {
	// FutureWait is how long a read waits for a version that the store has not reached.
	// Defaults to 3 s.
	FutureWait time.Duration
	// Clock is the time. Defaults to the real one.
	Clock clock.Clock
	// Cache are the options of the caches, but for Stamp, which is the kind's. Defaults to those of its zero value.
	Cache cacher.Options
	// ServiceIPs is the range that services get their addresses from. Its first and last address are given to those
	// only who ask for them. Defaults to 10.96.0.0/16.
	ServiceIPs netip.Prefix
	// Admit is asked before each write, and may refuse it or change the object. It is called again when the write
	// is tried again. Nil: all are done.
	Admit func(context.Context, Admission) error
	// Reserve is asked last, when a write has been found right, and may refuse it; it must not change the object. It
	// returns how to take back what it has done, which must not fail, for a write that was not stored. Of a write
	// whose fate is not known nothing is taken back. Nil: nothing is reserved.
	Reserve func(context.Context, Admission) (release func(), err error)
}

func (o Options) withDefaults() Options {
	if o.FutureWait == 0 {
		o.FutureWait = 3 * time.Second
	}
	if !o.ServiceIPs.IsValid() {
		o.ServiceIPs = netip.MustParsePrefix("10.96.0.0/16")
	}
	o.ServiceIPs = o.ServiceIPs.Masked()
	o.Clock = timing.Or(o.Clock)
	return o
}

// Registry is what the verbs of the API do to the store. All methods are safe for concurrent
// use. Their errors are Status errors of the API ([apierrors.APIStatus]), or else failures of
// the server.
type Registry struct {
	store   *storage.Store
	options Options
	caches  caches
	// views holds the view of each viewKey that was written through.
	views sync.Map
}

// New returns a registry on a store. It must be closed.
func New(store *storage.Store, o Options) *Registry {
	r := &Registry{store: store, options: o.withDefaults()}
	r.caches.running, r.caches.cancel = context.WithCancel(context.Background())
	return r
}

// Target is what a request is about.
type Target struct {
	// Kind is the row of the kind.
	Kind *kinds.Kind
	// Namespace is "" for cluster-scoped kinds, and for all namespaces of a collection.
	Namespace string
	// Name is "" for a collection.
	Name string
	// Subresource is "status", "scale", "finalize" or, for the object itself, "". The kind must
	// have it.
	Subresource string
}

// prefix returns what the keys of the collection begin with.
func (t Target) prefix() string { return root(t.Kind) + t.within() }

// root returns what the keys of all objects of a kind begin with.
func root(k *kinds.Kind) string {
	if k.Group == "" {
		return "/" + k.Resource + "/"
	}
	return "/" + k.Group + "/" + k.Resource + "/"
}

// within returns what stands between root and the name.
func (t Target) within() string {
	if !t.Kind.Namespaced || t.Namespace == "" {
		return ""
	}
	return t.Namespace + "/"
}

func (t Target) key() string { return t.prefix() + t.Name }

// Get returns one object. A version asks for a state that is not older.
func (r *Registry) Get(ctx context.Context, t Target, version string) (kinds.Object, error) {
	revision, err := parseVersion(version)
	if err != nil {
		return nil, err
	}
	if err := r.waitFor(ctx, revision); err != nil {
		return nil, err
	}
	entry, err := r.store.Get(ctx, t.key())
	if err != nil {
		return nil, t.classify(err)
	}
	o, err := t.decode(entry)
	if err != nil {
		return nil, err
	}
	return t.show(o), nil
}

// waitFor waits until the store has reached a revision, for as long as the options say.
func (r *Registry) waitFor(ctx context.Context, revision int64) error {
	if revision == 0 {
		return nil
	}
	current, err := r.store.Revision(ctx)
	if err != nil || current >= revision {
		return err
	}
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := timing.AfterFunc(r.options.Clock, r.options.FutureWait, cancel)
	defer stop()
	err = r.store.WaitFor(waiting, revision)
	if errors.Is(err, storage.ErrFuture) && ctx.Err() == nil {
		if current, err = r.store.Revision(ctx); err == nil {
			err = tooLarge(revision, current)
		}
	}
	return err
}

func (t Target) decode(e storage.Entry) (kinds.Object, error) {
	return t.Kind.DecodeStored(e.Value, formatVersion(e.Revision))
}

// classify turns what the store said about the target into an answer.
func (t Target) classify(err error) error {
	switch {
	case errors.Is(err, storage.ErrNotFound):
		return apierrors.NewNotFound(t.Kind.GroupResource(), t.Name)
	case errors.Is(err, storage.ErrExists):
		return apierrors.NewAlreadyExists(t.Kind.GroupResource(), t.Name)
	}
	return err
}

func (t Target) invalid(errs field.ErrorList) error {
	return apierrors.NewInvalid(t.Kind.GroupVersionKind().GroupKind(), t.Name, errs)
}

func (t Target) conflict() error {
	return apierrors.NewConflict(t.Kind.GroupResource(), t.Name,
		errors.New("the object has been modified; please apply your changes to the latest version and try again"))
}

func formatVersion(revision int64) string { return strconv.FormatInt(revision, 10) }

// parseVersion reads a version that a client gave; "" and "0" are 0.
func parseVersion(version string) (int64, error) {
	if version == "" {
		return 0, nil
	}
	revision, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return 0, apierrors.NewBadRequest("invalid resource version: " + versionError(version, err))
	}
	return int64(min(revision, math.MaxInt64)), nil
}

func versionError(version string, err error) string {
	return field.Invalid(field.NewPath("resourceVersion"), version, err.Error()).Error()
}

// tooLarge is the answer to a version that the store has not reached in time.
func tooLarge(revision, current int64) error {
	err := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", revision, current), 1)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version",
	}}
	return err
}

// internal is a failure with code 500 and no reason.
func internal(message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: message,
	}}
}
