package reflector

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/internal/timing"
	"github.com/seed3bce33ad/listwatch/internal/worker"
)

// warnEvery is the pace of the warnings while the first list is not complete.
const warnEvery = 10 * time.Second

// Reflector keeps a sink equal to a source: it lists, watches from the list's version, resumes
// after failures, and compares now and then. It is made by [New], runs once, and is safe for
// concurrent use.
type Reflector[T listwatch.Object] struct {
	source listwatch.ListerWatcher[T]
	sink   Sink[T]
	o      Options
	group  worker.Group
	done   listwatch.Signal // the loop and the comparing list have ended
	halted atomic.Bool      // by Stop, and written with mu held
	ledger ledger
	// begin orders Begin of the sink: a comparing list never begins once another list has.
	// It is locked before mu.
	begin sync.Mutex

	// What follows belongs to the loop, and to the callbacks of its call, which never overlap
	// with it. ctx is Run's; snapshot is the list in progress, which began after listNote.
	ctx      context.Context
	machine  machine
	snapshot listwatch.Snapshot[T]
	listNote uint64
	batch    []listwatch.Event[T]

	mu sync.Mutex // guards all below
	// started: Run was called. Active counts the loop and the comparing list.
	started bool
	active  int
	// listing: the loop has begun a list and not committed it.
	listing bool
	// call is the loop's present call, or its pause. Live: it is a watch. Want is what the next end
	// of a watch is to lead to.
	call    *call
	live    bool
	want    want
	compare schedule
	warn    func() // stops the timer of the warning; nil when there is none
}

// New returns a Reflector that reads source and writes to sink. Options that make no sense panic,
// as does a nil source or sink: they are programming errors.
func New[T listwatch.Object](source listwatch.ListerWatcher[T], sink Sink[T], o Options) *Reflector[T] {
	o = o.withDefaults()
	err := o.validate()
	if source == nil || sink == nil {
		err = errors.Join(err, errors.New("source and sink must be given"))
	}
	if err != nil {
		panic(fmt.Sprintf("reflector %s: %v", o.Name, err))
	}
	r := &Reflector[T]{source: source, sink: sink, o: o}
	r.machine.o = &r.o
	r.ledger.tell = func(open bool) {
		_ = safely("sink", func() error { sink.Lost(open); return nil })
	}
	return r
}

// Run keeps the sink equal to the source until ctx is done. It blocks, and returns nil then.
//
// While it runs another Run returns an error that wraps [listwatch.ErrRunning], afterwards
// one that wraps [listwatch.ErrStopped]: a Reflector runs once. When it has returned, nothing
// of it is left behind, unless the source ignored its context for longer than Options.Grace:
// that is reported, and the goroutine in it ends when the source lets it.
func (r *Reflector[T]) Run(ctx context.Context) error {
	wait, err := r.Start(ctx)
	if err != nil {
		return err
	}
	wait()
	return nil
}

// Start begins what Run does and returns at once, for callers that have something to do in
// the goroutine that would be Run's. Wait blocks until it has ended, which it does soon after
// ctx is done. It must be called: what is given up after Options.Grace is so only then, or after
// [Reflector.Stop]. Errors are those of Run.
func (r *Reflector[T]) Start(ctx context.Context) (wait func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case !r.started:
	case r.active > 0:
		return nil, fmt.Errorf("reflector %s: %w", r.o.Name, listwatch.ErrRunning)
	default:
		return nil, fmt.Errorf("reflector %s: %w", r.o.Name, listwatch.ErrStopped)
	}
	r.ctx, r.started, r.active = ctx, true, 1
	r.armWarningLocked()
	r.group.Go(func() { r.loop(input{kind: inStart}) })
	return r.wait, nil
}

func (r *Reflector[T]) wait() {
	select {
	case <-r.done.Done():
	case <-r.ctx.Done():
		r.Stop(context.Cause(r.ctx))
		<-r.done.Done()
	}
	if r.Health().Abandoned == 0 {
		r.group.Wait()
	}
}

// Stop ends what Run or Start has begun, for the given reason, as the end of its context does. It
// does not wait. A Reflector that has not started is never to do anything.
func (r *Reflector[T]) Stop(cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.halted.Store(true)
	if r.call != nil {
		r.call.end(cause)
	}
	if r.compare.cancel != nil {
		r.compare.cancel(cause)
	}
}

// halting reports whether the reflector has to end.
func (r *Reflector[T]) halting() bool { return r.halted.Load() || r.ctx.Err() != nil }

func (r *Reflector[T]) log() *slog.Logger { return r.o.Logger.With("reflector", r.o.Name) }

// Health returns how the reflector is. It never blocks on the source or the sink.
func (r *Reflector[T]) Health() Health { return r.ledger.health() }

// loop turns inputs into effects until it is stopped, or goes on in another goroutine because
// a call of the source was abandoned.
func (r *Reflector[T]) loop(in input) {
	for mine := true; mine; {
		e := r.step(in)
		switch e.do {
		case doSleep:
			c := r.newCall()
			_ = timing.Sleep(c.ctx, r.o.Clock, e.delay)
			c.close()
			in = input{kind: inSlept}
		case doStream:
			in, mine = r.stream(e.list)
		case doList:
			in, mine = r.list(e.list)
		case doCommit:
			in = r.commit(e.version)
		case doWatch:
			in, mine = r.watch()
		case doProbe:
			in, mine = r.probe()
		default:
			r.stopped()
			return
		}
	}
}

// step feeds the machine and keeps the books on what it decides.
func (r *Reflector[T]) step(in input) effect {
	now := r.o.Clock.Now()
	in.now, in.chance, in.position, in.floor = now, r.o.Rand(), r.ledger.position(), r.ledger.floor()
	if r.halting() {
		in.kind = inQuit
	}
	m, e := r.machine.step(in)
	r.machine = m
	if e.failed && !errors.Is(in.err, errIgnores) {
		r.report(in.op, in.err, e.fault)
	}
	switch e.do {
	case doSleep:
		r.ledger.enter(Waiting, now)
		r.ledger.count(func(v *vitals) { v.nextRetry = now.Add(e.delay) })
	case doList, doStream:
		r.ledger.enter(Listing, now)
	case doWatch, doProbe:
		r.ledger.enter(Watching, now)
	case doStop:
		r.ledger.enter(Stopped, now)
	}
	return e
}

// stopped is the end of the loop.
func (r *Reflector[T]) stopped() {
	r.abort()
	r.mu.Lock()
	r.compare.disarm()
	r.stopWarningLocked()
	r.call = nil
	r.mu.Unlock()
	r.ended()
}

// ended is the end of the loop, or of a comparing list.
func (r *Reflector[T]) ended() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.active--
	if r.active == 0 {
		r.done.Fire()
	}
}

// report tells of a failure: Health, the log, OnError.
func (r *Reflector[T]) report(op string, err error, fault string) {
	if err == nil {
		err = listwatch.ErrProtocol
	}
	if fault != "" {
		err = fmt.Errorf("%w: %s", err, fault)
	}
	if op != "" {
		err = fmt.Errorf("%s: %w", op, err)
	}
	err = fmt.Errorf("reflector %s: %w", r.o.Name, err)
	r.ledger.failed(err, r.o.Clock.Now())
	var panicked *panicError
	if errors.As(err, &panicked) {
		r.log().Error("panic", "error", err, "stack", string(panicked.stack))
	} else if errors.Is(err, listwatch.ErrExpired) {
		r.log().Info("failure", "error", err) // a matter of course: a list follows
	} else {
		r.log().Warn("failure", "error", err)
	}
	if r.o.OnError == nil {
		return
	}
	err = safely("OnError", func() error { r.o.OnError(err); return nil })
	if errors.As(err, &panicked) {
		err = fmt.Errorf("reflector %s: %w", r.o.Name, err)
		r.ledger.failed(err, r.o.Clock.Now())
		r.log().Error("panic", "error", err, "stack", string(panicked.stack))
	}
}

// abandoned counts and reports a call that ignores its context, and goes on in its place.
func (r *Reflector[T]) abandoned(op string, err error, goOn func()) {
	r.ledger.count(func(v *vitals) { v.abandoned++ })
	r.group.Go(func() {
		r.report(op, err, "")
		goOn()
	})
}

// armWarningLocked has it told from time to time that the first list is not complete.
func (r *Reflector[T]) armWarningLocked() {
	r.warn = timing.AfterFunc(r.o.Clock, warnEvery, func() {
		h := r.Health()
		r.mu.Lock()
		defer r.mu.Unlock()
		if h.Synced || r.active == 0 || r.halting() {
			return
		}
		r.log().Warn("the first list is not complete yet", "state", h.State.String(), "lastError", h.LastError)
		r.armWarningLocked()
	})
}

func (r *Reflector[T]) stopWarningLocked() {
	if r.warn != nil {
		r.warn()
		r.warn = nil
	}
}
