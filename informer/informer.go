package informer

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
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

var errGoexit = errors.New("a function ended the goroutine of Run")

// batchSize is how many changes are stored under one lock, about.
const batchSize = 1024

// keepWrites is how many writes a batch leaves memory for to the next one.
const keepWrites = 4 * batchSize

type state uint8

const (
	isNew state = iota
	isRunning
	isStopped
)

// Informer keeps an [indexer.Indexer] equal to a collection on a server and tells handlers what
// changes. Make one with [New], start it with Run. All methods are safe for concurrent use.
type Informer[T listwatch.Object] struct {
	options   kept
	uid       func(T) string
	store     *indexer.Indexer[T]
	queue     *deltafifo.DeltaFIFO[T]
	reflector *reflector.Reflector[T]
	workers   worker.Group // Run's own, and those that call handlers
	synced    listwatch.Signal
	stopped   listwatch.Signal
	faults    faults // of index functions

	// mu is held over each change of the store together with the log, so that whoever holds it
	// sees both at one state. Lock order: mu, then delivery.mu and the indexer's.
	mu         sync.Mutex
	state      state          // guarded by mu, as is all below
	complete   bool           // the store has held the first list; synced fires just after
	ran        error          // what Run returned
	log        log[T]         // what handlers read
	deliveries []*delivery[T] // in the order of registration
	overlays   []*Overlay[T]
	waiters    *waiters // nil: none
	version    string   // everything up to it is in the store
	epoch      uint64
	stats      Stats

	// Scratch of the goroutine that pops, empty between two batches.
	writes  []indexer.Write[T]
	changes []Change[T]
}

// New returns an informer of the source, which is not called before Run. A nil source and options
// that do not make sense panic: they are programming errors.
func New[T listwatch.Object](source listwatch.ListerWatcher[T], o Options) *Informer[T] {
	o = o.withDefaults()
	i := &Informer[T]{options: o.kept(), uid: identity.Of[T](), log: log[T]{end: &node[T]{first: 1}}}
	o.Index.OnError = i.indexFault
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
func (i *Informer[T]) Run(ctx context.Context) (err error) {
	if err := i.start(ctx); err != nil {
		if errors.Is(err, listwatch.ErrRunning) {
			i.options.Logger.Warn("Run was called again", "informer", i.options.Name)
		}
		return fmt.Errorf("informer %s: %w", i.options.Name, err)
	}
	err = errGoexit // unless it returns
	wait := func() {}
	defer func() {
		p := recover()
		i.reflector.Stop(err)
		i.queue.Close()
		if p != nil {
			panic(p) // the process dies of it now, not when the handlers have returned
		}
		wait()
		if err = i.ending(ctx, err); err != nil {
			i.options.report(err)
		}
		i.stop(err)
	}()
	began, fault := i.reflector.Start(ctx)
	if fault != nil {
		return fault
	}
	wait = began
	return i.pop(ctx)
}

// ending returns what Run returns: an end as asked for is none.
func (i *Informer[T]) ending(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("informer %s: %w", i.options.Name, err)
}

func (i *Informer[T]) start(ctx context.Context) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch i.state {
	case isRunning:
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
	i.waiters = nil
	i.mu.Unlock()
	i.stopped.Fire() // first, since a handler may be in WaitForSync
	for _, d := range deliveries {
		d.end(listwatch.ErrStopped)
	}
	i.workers.Wait()
	for _, d := range deliveries {
		<-d.reg.done.Done() // the end of its context may be at it
	}
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
	i.mu.Lock()
	if i.state == isNew {
		why = fmt.Errorf("%w: Run has not been called", why)
	}
	i.mu.Unlock()
	if i.synced.Fired() {
		return nil
	}
	if last := i.reflector.Health().LastError; last != nil {
		return fmt.Errorf("informer %s is not synced: %w; last failure: %w", i.options.Name, why, last)
	}
	return fmt.Errorf("informer %s is not synced: %w", i.options.Name, why)
}

// Synced returns the signal that fires when the store holds the whole first list.
func (i *Informer[T]) Synced() *listwatch.Signal { return &i.synced }

// Reached returns a signal that fires once the store shows everything up to version, but for what
// was refused: a reconciler can wait for its own write. The version must be one of this collection's
// server, from its present life. The signal fires at once when that is shown already, and for all
// versions when the server was restored and versions went back. A version that is not a number is
// reached when the collection stands at exactly that one, or an object is stored in that state; ""
// is reached always.
//
// Calls for one version share a signal, which is the informer's to fire. When more than 65,536
// versions are waited for, further ones share the signal of a newer one, and the oldest that is not
// a number is given up. A signal is kept until it fires or Run ends; after that nothing fires any
// more, so a step that waits should have a deadline, as a parked key has: ParkTimeout of the queue,
// 30 s, unless workqueue.Result.After says otherwise. When the key comes again by its deadline the
// store is still behind: ask Fired, and await it again.
//
// When a watch has lost something, versions behind that wait until a list has repaired it, unless
// they are not numbers: Health.Source.Gap says so.
func (i *Informer[T]) Reached(version string) *listwatch.Signal {
	i.mu.Lock()
	defer i.mu.Unlock()
	if c, err := listwatch.CompareVersions(version, i.version); version == "" || err == nil && c <= 0 {
		signal := &listwatch.Signal{}
		signal.Fire()
		return signal
	}
	if i.state == isStopped {
		return &listwatch.Signal{}
	}
	return i.someWaitersLocked().wait(version)
}

// now returns the time of the informer's clock.
func (i *Informer[T]) now() time.Time { return i.options.Clock.Now() }

// fire lets a signal happen. The functions that wait for it are the user's.
func (i *Informer[T]) fire(s *listwatch.Signal) {
	if !i.options.CrashOnPanic {
		defer func() {
			if p := recover(); p != nil {
				err := &PanicError{Where: "in a function of a signal", Value: p, Stack: debug.Stack()}
				i.options.report(fmt.Errorf("informer %s: %w", i.options.Name, err))
			}
		}()
	}
	s.Fire()
}
