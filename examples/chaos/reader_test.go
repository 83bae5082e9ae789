package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/indexer"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/reflector"
	"github.com/seed3bce33ad/listwatch/reflector/rest"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

// widget is the custom kind.
type widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Size        int64
		Color, Note string
	}
}

type labelled interface {
	listwatch.Object
	GetLabels() map[string]string
}

// reader is one informer with all that hangs on it.
type reader[T labelled] struct {
	world    *world
	name     string
	path     string // of the whole collection
	source   *rest.Source[T]
	informer *informer.Informer[T]
	byGroup  *indexer.Index[T, string]
	told     map[string]*fakes.Recorder[T]
	lasting  map[string]*informer.Registration
	queue    *workqueue.Queue[listwatch.Key]
	chance   *chance
	running  sync.WaitGroup
	cancel   context.CancelFunc

	mu sync.Mutex // guards all below
	// worked is what the loop has last seen of each key; wake is closed when that changes.
	worked map[listwatch.Key]T
	wake   chan struct{}
	faults []string
	errors map[string]int
}

// form is how a reader reads.
type form struct {
	name   string
	path   string
	kind   string // told, lest a lie be the first answer and the kind be learnt from that
	secure bool   // HTTP/2 over TLS
	many   bool   // a request for each namespace
}

func newReader[T labelled](w *world, f form, c *chance) *reader[T] {
	t := w.t
	r := &reader[T]{
		world: w, name: f.name, path: f.path, chance: c,
		told: make(map[string]*fakes.Recorder[T]), lasting: make(map[string]*informer.Registration),
		worked: make(map[listwatch.Key]T), wake: make(chan struct{}), errors: make(map[string]int),
	}
	address, secrets := w.address(f.secure, f.path)
	o := rest.Options{
		TLS: secrets, Kind: f.kind, Header: http.Header{readerHeader: {f.name}},
		PingIdle: 300 * time.Millisecond, PingTimeout: 300 * time.Millisecond,
	}
	if f.many {
		o.Namespaces = namespaces
	}
	var err error
	r.source, err = rest.New[T](address, o)
	require.NoError(t, err)
	log := slog.New(slog.DiscardHandler)
	if *verbose {
		log = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	r.informer = informer.New(r.source, informer.Options{
		Name: f.name, Logger: log, Resync: 500 * time.Millisecond, OnError: r.hear,
		Reflector: reflector.Options{
			FirstList: reflector.FirstList(c.n(3)), PageSize: int64(c.n(2) * 7), Rand: c.float,
			WatchTimeout: time.Second, WatchJitter: time.Second, WatchSlack: 500 * time.Millisecond,
			IdleTimeout: time.Second, StreamTimeout: time.Second,
			BackoffBase: 10 * time.Millisecond, BackoffMax: 200 * time.Millisecond, BackoffReset: time.Second,
			Relist: 1500 * time.Millisecond, ServerErrorsBeforeList: 500 * time.Millisecond, Grace: 5 * time.Second,
		},
	})
	r.byGroup, err = indexer.AddIndex(r.informer.Indexer(), "group", indexer.One(group[T]))
	require.NoError(t, err)
	r.queue = workqueue.New[listwatch.Key](workqueue.Options{Name: f.name, Logger: log})
	return r
}

func group[T labelled](o T) string { return o.GetLabels()["group"] }

func inGroup0[T labelled](o T) bool { return group(o) == "g0" }

func (r *reader[T]) run(ctx context.Context) {
	ctx, r.cancel = context.WithCancel(ctx)
	slow := func(ctx context.Context, c informer.Change[T]) {
		r.told["slow"].Handle(ctx, c)
		pause(ctx, time.Duration(r.chance.n(8))*time.Millisecond)
	}
	r.handle(ctx, "slow", r.checked(slow), informer.HandlerOptions{Name: "slow", Backlog: 20})
	r.handle(ctx, "every", r.checked(func(ctx context.Context, c informer.Change[T]) {
		r.told["every"].Handle(ctx, c)
	}), informer.HandlerOptions{Name: "every", Policy: informer.EveryEvent})
	r.handle(ctx, "filtered", informer.Filter(inGroup0[T], func(ctx context.Context, c informer.Change[T]) {
		r.told["filtered"].Handle(ctx, c)
	}), informer.HandlerOptions{Name: "filtered"})
	_, err := informer.Enqueue(ctx, r.informer, r.queue)
	require.NoError(r.world.t, err)
	r.running.Go(func() {
		if err := r.informer.Run(ctx); err != nil {
			r.world.t.Errorf("%s: %v", r.name, err)
		}
	})
	r.running.Go(func() {
		if err := workqueue.Process(ctx, r.queue, 2, r.step); err != nil {
			r.world.t.Errorf("%s: %v", r.name, err)
		}
	})
}

func (r *reader[T]) handle(ctx context.Context, name string, h informer.Handler[T], o informer.HandlerOptions) {
	r.told[name] = &fakes.Recorder[T]{}
	reg, err := r.informer.AddHandler(ctx, h, o)
	require.NoError(r.world.t, err)
	r.lasting[name] = reg
}

// checked checks that the store is never behind what a handler is told.
func (r *reader[T]) checked(next informer.Handler[T]) informer.Handler[T] {
	return func(ctx context.Context, c informer.Change[T]) {
		held, ok := r.informer.Indexer().Get(c.Key)
		if ok && listwatch.Newer(c.Object.GetResourceVersion(), held.GetResourceVersion()) {
			r.fault("%s of %s at %s, and the store holds %s", c.Type, c.Key, c.Object.GetResourceVersion(), held.GetResourceVersion())
		}
		next(ctx, c)
	}
}

func (r *reader[T]) fault(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.faults) < 20 {
		r.faults = append(r.faults, fmt.Sprintf(format, args...))
	}
}

// step notes what the store holds, and fails at times.
func (r *reader[T]) step(_ context.Context, k listwatch.Key) (workqueue.Result, error) {
	if r.chance.n(20) == 0 {
		return workqueue.Result{}, errors.New("at random")
	}
	held, ok := r.informer.Indexer().Get(k)
	r.mu.Lock()
	defer r.mu.Unlock()
	if ok {
		r.worked[k] = held
	} else {
		delete(r.worked, k)
	}
	close(r.wake)
	r.wake = make(chan struct{})
	return workqueue.Result{}, nil
}

// hear counts the failures by their class.
func (r *reader[T]) hear(err error) {
	name := "other"
	for _, class := range []error{
		listwatch.ErrExpired, listwatch.ErrTooLargeVersion, listwatch.ErrTooManyRequests, listwatch.ErrUnauthorized, listwatch.ErrForbidden,
		listwatch.ErrNotFound, listwatch.ErrUnavailable, listwatch.ErrUnsupported, listwatch.ErrDecode, listwatch.ErrProtocol,
		listwatch.ErrWrongKind, listwatch.ErrIdle, informer.ErrOverrun,
	} {
		if errors.Is(err, class) {
			name = class.Error()
			break
		}
	}
	if name == "other" {
		name = err.Error()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errors[name]++
}

// anyKind leaves the kind out: the items of a list of a built-in kind have none.
var anyKind = cmpopts.IgnoreTypes(metav1.TypeMeta{})

// settle blocks until everything that hangs on the reader shows what the server holds.
func (r *reader[T]) settle(ctx context.Context) {
	t := r.world.t
	t.Helper()
	want := truth[T](r.world, r.path)
	filtered := maps.Clone(want)
	maps.DeleteFunc(filtered, func(_ listwatch.Key, o T) bool { return !inGroup0(o) })
	for name, rec := range r.told {
		want := want
		if name == "filtered" {
			want = filtered
		}
		err := rec.WaitFor(ctx, func([]informer.Change[T]) bool { return len(versions(rec.Held(), want)) == 0 })
		require.NoError(t, err, "%s: %s: %v\n%+v\n%v", r.name, name, versions(rec.Held(), want), r.informer.Health(), rec.Err())
		require.Empty(t, cmp.Diff(want, rec.Held(), anyKind), r.name)
	}
	for wake := r.waitWorked(want); wake != nil; wake = r.waitWorked(want) {
		select {
		case <-wake:
		case <-ctx.Done():
			require.FailNow(t, "the loop has not seen everything", "%s: %v", r.name, versions(r.worked, want))
		}
	}
	store := r.informer.Indexer()
	held := make(map[listwatch.Key]T)
	for _, o := range store.List() {
		held[listwatch.KeyOf(o)] = o
	}
	require.Empty(t, cmp.Diff(want, held, anyKind), r.name)
	for n := range 4 {
		g := fmt.Sprint("g", n)
		var in []string
		for k, o := range want {
			if group(o) == g {
				in = append(in, k.String())
			}
		}
		require.ElementsMatch(t, in, keysOf(r.byGroup.Get(g)), "%s: %s", r.name, g)
	}
}

func keysOf[T listwatch.Object](objects []T) []string {
	var keys []string
	for _, o := range objects {
		keys = append(keys, listwatch.KeyOf(o).String())
	}
	return keys
}

// waitWorked returns nil when the loop has seen what is wanted, else what tells of more.
func (r *reader[T]) waitWorked(want map[listwatch.Key]T) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(versions(r.worked, want)) == 0 {
		return nil
	}
	return r.wake
}

// versions returns where two states differ.
func versions[T listwatch.Object](got, want map[listwatch.Key]T) []string {
	var diff []string
	for k, o := range want {
		if held, ok := got[k]; !ok {
			diff = append(diff, fmt.Sprintf("%s: missing at %s", k, o.GetResourceVersion()))
		} else if held.GetResourceVersion() != o.GetResourceVersion() {
			diff = append(diff, fmt.Sprintf("%s: %s instead of %s", k, held.GetResourceVersion(), o.GetResourceVersion()))
		}
	}
	for k, o := range got {
		if _, ok := want[k]; !ok {
			diff = append(diff, fmt.Sprintf("%s: still at %s", k, o.GetResourceVersion()))
		}
	}
	slices.Sort(diff)
	return diff
}

// check checks what must hold at any time.
func (r *reader[T]) check(t *testing.T) {
	for name, rec := range r.told {
		if err := rec.Err(); err != nil && !t.Failed() {
			t.Errorf("%s: %s was told what it must not be:\n%v", r.name, name, err)
		}
		rec.Forget()
	}
	for name, reg := range r.lasting {
		select {
		case <-reg.Done():
			t.Errorf("%s: %s has ended: %v", r.name, name, reg.Err())
		default:
		}
	}
	h := r.informer.Health()
	if h.Source.Restores != 0 || h.Source.Abandoned != 0 {
		t.Errorf("%s: restores or abandoned calls: %+v", r.name, h)
	}
	if n := r.world.gateway.withheldFrom(r.name); n == 0 && h.Drift != 0 {
		t.Errorf("%s: drift of %d though nothing was withheld", r.name, h.Drift)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, fault := range r.faults {
		t.Errorf("%s: %s", r.name, fault)
	}
	r.faults = nil
}

func (r *reader[T]) stop() {
	r.cancel()
	r.running.Wait()
	r.source.CloseIdleConnections()
}

func (r *reader[T]) drift() uint64 { return r.informer.Health().Drift }

func (r *reader[T]) tell(t *testing.T) {
	h := r.informer.Health()
	r.mu.Lock()
	defer r.mu.Unlock()
	t.Logf("%-10s lists %d watches %d probes %d compares %d gaps %d drift %d withheld %d objects %d; failures %v", r.name, h.Source.Lists,
		h.Source.Watches, h.Source.Probes, h.Source.Compares, h.Source.Gaps, h.Drift, r.world.gateway.withheldFrom(r.name), h.Objects, r.errors)
}
