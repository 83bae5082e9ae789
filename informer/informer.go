package informer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/deltafifo"
	"github.com/seed3bce33ad/listwatch/indexer"
	"github.com/seed3bce33ad/listwatch/internal/identity"
	"github.com/seed3bce33ad/listwatch/internal/timing"
	"github.com/seed3bce33ad/listwatch/internal/worker"
	"github.com/seed3bce33ad/listwatch/reflector"
)

// batchSize is how many keys are stored under one lock.
const batchSize = 1024

type state uint8

const (
	isNew state = iota
	isRunning
	isStopped
)

// Informer keeps an [indexer.Indexer] equal to a collection on a server and tells handlers what
// changes. Make one with [New], start it with Run. All methods are safe for concurrent use.
type Informer[T listwatch.Object] struct {
	options   Options
	uid       func(T) string
	store     *indexer.Indexer[T]
	queue     *deltafifo.DeltaFIFO[T]
	reflector *reflector.Reflector[T]
	workers   worker.Group // Run's own, and those that call handlers
	synced    listwatch.Signal
	stopped   listwatch.Signal
	report    func(error)
	faults    faults // of index functions

	// mu is held over each change of the store together with the log, so that whoever holds it
	// sees both at one state. Lock order: mu, then delivery.mu and the indexer's.
	mu         sync.Mutex
	state      state          // guarded by mu, as is all below
	complete   bool           // the store has held the first list; synced fires just after
	ran        error          // what Run returned
	log        log[T]         // what handlers read
	deliveries []*delivery[T] // in the order of registration
	waiters    waiters
	version    string // everything up to it is in the store
	epoch      uint64
	stats      Stats

	writes []indexer.Write[T] // scratch of the goroutine that pops
}

// New returns an informer of the source, which is not called before Run. Options that do not
// make sense panic: they are programming errors.
func New[T listwatch.Object](source listwatch.ListerWatcher[T], o Options) *Informer[T] {
	o = o.withDefaults()
	i := &Informer[T]{options: o, uid: identity.Of[T](), log: log[T]{end: &node[T]{first: 1}}}
	i.report = func(err error) {
		o.Logger.Error(err.Error(), "informer", o.Name)
		o.heard(o.OnError)(err)
	}
	i.faults.report = i.report
	if o.Index.OnError != nil {
		i.faults.report = o.heard(o.Index.OnError)
	}
	o.Index.OnError = i.faults.tell
	if o.Index.Name == "" {
		o.Index.Name = o.Name
	}
	if o.Reflector.OnError == nil {
		o.Reflector.OnError = o.OnError
	}
	i.store = indexer.New[T](o.Index)
	i.queue = deltafifo.New[T](i.store, o.Queue)
	i.reflector = reflector.New[T](source, i.queue, o.Reflector)
	return i
}

// Name returns the name that Options gave.
func (i *Informer[T]) Name() string { return i.options.Name }

// Indexer returns the reading side of the store. It may be read at any time: before the
// informer is synced it shows a part of the collection, after Run has ended the last state.
func (i *Informer[T]) Indexer() *indexer.Reader[T] { return i.store.Reader() }

// Run reads from the source and serves the handlers until ctx is done, and returns nil then.
// When it returns, no goroutine, timer or callback of the informer is left, so it waits for
// handlers that are in a call; their ctx is done. The source alone is given up after a grace,
// see [reflector.Options].
//
// An informer runs once: a second call returns an error that wraps listwatch.ErrRunning, or
// listwatch.ErrStopped after the first one has ended. A ctx that is done already stops it
// without a request.
func (i *Informer[T]) Run(ctx context.Context) error {
	if err := i.start(ctx); err != nil {
		return fmt.Errorf("informer %s: %w", i.options.Name, err)
	}
	inner, cancel := context.WithCancelCause(ctx)
	wait, err := i.reflector.Start(inner)
	if err == nil {
		err = i.pop(inner)
		cancel(err)
		i.queue.Close()
		wait()
	}
	cancel(err)
	if ctx.Err() != nil {
		err = nil // an end as asked for
	} else {
		err = fmt.Errorf("informer %s: %w", i.options.Name, err)
	}
	i.stop(err)
	return err
}

func (i *Informer[T]) start(ctx context.Context) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch i.state {
	case isRunning:
		i.options.Logger.Warn("Run was called again", "informer", i.options.Name)
		return listwatch.ErrRunning
	case isStopped:
		return listwatch.ErrStopped
	}
	i.state = isRunning
	if ctx.Err() != nil {
		return nil // Run goes through its end at once
	}
	for _, d := range i.deliveries {
		i.armResyncLocked(d)
	}
	return nil
}

func (i *Informer[T]) stop(err error) {
	i.mu.Lock()
	i.state = isStopped
	i.ran = err
	deliveries := i.deliveries
	i.deliveries = nil
	i.waiters = waiters{}
	i.mu.Unlock()
	for _, d := range deliveries {
		d.end(listwatch.ErrStopped)
	}
	i.workers.Wait()
	i.stopped.Fire()
}

func (i *Informer[T]) pop(ctx context.Context) error {
	for {
		if err := i.queue.Pop(ctx, batchSize, i.apply); err != nil {
			return err
		}
	}
}

// WaitForSync blocks until the store holds the whole first list; see [Registration.Synced]
// for handlers. It gives up with an error when ctx is done, when Options.SyncTimeout has
// passed since the call, and when Run has ended; the error names the informer and wraps the
// last failure of the source. A synced informer returns nil at once.
func (i *Informer[T]) WaitForSync(ctx context.Context) error {
	var timeout listwatch.Signal
	if i.options.SyncTimeout > 0 && !i.synced.Fired() {
		stop := timing.AfterFunc(i.options.Clock, i.options.SyncTimeout, timeout.Fire)
		defer stop()
	}
	var why error
	select {
	case <-i.synced.Done():
	case <-i.stopped.Done():
		i.mu.Lock()
		why = errors.Join(listwatch.ErrStopped, i.ran)
		i.mu.Unlock()
	case <-ctx.Done():
		why = context.Cause(ctx)
	case <-timeout.Done():
		why = fmt.Errorf("%w within %s", context.DeadlineExceeded, i.options.SyncTimeout)
	}
	if why == nil || i.synced.Fired() {
		return nil
	}
	if last := i.reflector.Health().LastError; last != nil {
		return fmt.Errorf("informer %s is not synced: %w; last failure: %w", i.options.Name, why, last)
	}
	return fmt.Errorf("informer %s is not synced: %w", i.options.Name, why)
}

// Synced returns the signal that fires when the store holds the whole first list.
func (i *Informer[T]) Synced() *listwatch.Signal { return &i.synced }

// Reached returns a signal that fires once the store shows everything up to version: a
// reconciler can wait for its own write. It fires at once when that is so already, and for all
// versions when the server was restored and versions went back. A version that is not a number
// is reached when the collection stands at exactly that one.
func (i *Informer[T]) Reached(version string) *listwatch.Signal {
	signal := &listwatch.Signal{}
	i.mu.Lock()
	defer i.mu.Unlock()
	if c, err := listwatch.CompareVersions(version, i.version); err == nil && c <= 0 {
		signal.Fire()
	} else if i.state != isStopped {
		i.waiters.add(waiter{version, signal})
	}
	return signal
}

// AddHandler has h told what the store holds, and from then on every change, until ctx is
// done, [Registration.Remove] is called or the informer stops. It may be called before, during
// and, with an error that wraps listwatch.ErrStopped, after Run, also from inside a handler.
func (i *Informer[T]) AddHandler(ctx context.Context, h Handler[T], o HandlerOptions) (*Registration, error) {
	o = o.withDefaults(i.options.Resync)
	err := o.validate()
	if ctx.Err() != nil {
		err = errors.Join(err, context.Cause(ctx))
	}
	if err != nil {
		return nil, fmt.Errorf("informer %s: handler %s: %w", i.options.Name, o.Name, err)
	}
	d := &delivery[T]{
		handler: h, options: o, crash: i.options.CrashOnPanic, workers: &i.workers,
		report: func(err error) { i.report(fmt.Errorf("informer %s: %w", i.options.Name, err)) },
		box:    mailbox[T]{fold: o.Policy == Coalesce, same: i.same}, syncAt: math.MaxUint64,
		reg: &Registration{done: make(chan struct{})},
	}
	d.ctx, d.cancel = context.WithCancelCause(ctx)
	d.remove = func(err error) { i.remove(d, err) }
	d.reg.stats = func() HandlerStats { return d.statsNow(i.logEnd()) }
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.state == isStopped {
		d.cancel(listwatch.ErrStopped)
		return nil, fmt.Errorf("informer %s: handler %s: %w", i.options.Name, o.Name, listwatch.ErrStopped)
	}
	i.admitLocked(d)
	if i.state == isRunning {
		i.armResyncLocked(d)
	}
	stop := context.AfterFunc(ctx, func() { i.remove(d, context.Cause(ctx)) })
	d.reg.remove = func() {
		stop()
		i.remove(d, nil)
	}
	return d.reg, nil
}

// admitLocked gives a new handler the state of the store and the log from there on.
func (i *Informer[T]) admitLocked(d *delivery[T]) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cursor = cursor[T]{node: i.log.end}
	last := i.log.seq() - 1
	for _, o := range i.store.Reader().List() {
		d.box.put(Change[T]{Type: Add, Key: listwatch.KeyOf(o), Object: o, Initial: true}, last)
	}
	if i.complete {
		d.syncAt = last
	}
	i.deliveries = append(i.deliveries, d)
	if i.complete || d.box.len > 0 {
		d.startLocked()
	}
}

func (i *Informer[T]) remove(d *delivery[T], err error) {
	i.mu.Lock()
	i.dropLocked(d)
	i.mu.Unlock()
	d.end(err)
}

func (i *Informer[T]) dropLocked(d *delivery[T]) {
	for n, other := range i.deliveries {
		if other == d {
			i.deliveries = slices.Concat(i.deliveries[:n], i.deliveries[n+1:]) // somebody may range over it
			return
		}
	}
}

func (i *Informer[T]) same(a, b T) bool {
	uid := i.uid(a)
	return uid != "" && uid == i.uid(b)
}

func (i *Informer[T]) logEnd() uint64 {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.log.seq()
}

// armResyncLocked has the handler resynced a period from now, and again after that.
func (i *Informer[T]) armResyncLocked(d *delivery[T]) {
	if d.options.Resync <= 0 {
		return
	}
	stop := timing.AfterFunc(i.options.Clock, d.options.Resync, func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		if i.state != isRunning || d.ctx.Err() != nil {
			return
		}
		d.resync(i.store.Reader().List(), i.log.seq())
		i.armResyncLocked(d)
	})
	d.keepTimer(stop)
}

// now returns the time of the informer's clock.
func (i *Informer[T]) now() time.Time { return i.options.Clock.Now() }
