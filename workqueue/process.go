package workqueue

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/seed3bce33ad/listwatch/internal/worker"
)

// PanicError is the error of a step that panicked.
type PanicError struct {
	// Value is what it panicked with.
	Value any
	// Stack is where.
	Stack []byte
}

// Error names the value. The stack is left out.
func (e *PanicError) Error() string { return fmt.Sprintf("step panicked: %v", e.Value) }

// Unwrap returns the value when that is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// errExit is the error of a step that ended its goroutine.
var errExit = errors.New("step called runtime.Goexit")

// Process calls step for one key after the other, in so many workers, each a goroutine that it
// starts and waits for. What step returns goes to [Queue.Finish]: an error brings the key back
// after the limiter's delay and is logged, success forgets the failures, and a [Result] asks for
// more. A panic of step is an error (a [*PanicError], logged with the stack).
//
// Process blocks until ctx is done or the queue has been closed or drained, and all steps have
// returned; then it returns nil. Once ctx is done no step begins; those that run see the same
// ctx. To let the queue run empty first, call [Queue.Drain] and leave ctx alone. An error means
// that there was nothing to run: no worker, or no step.
//
// Several calls may work on one queue.
func Process[K comparable](ctx context.Context, q *Queue[K], workers int, step func(context.Context, K) (Result, error)) error {
	if workers < 1 {
		return fmt.Errorf("%s: process: %d workers, at least one is needed", q.title, workers)
	}
	if step == nil {
		return fmt.Errorf("%s: process: no step", q.title)
	}
	p := &process[K]{queue: q, step: step}
	for range workers {
		p.group.Go(func() { p.run(ctx) })
	}
	p.group.Wait()
	return nil
}

type process[K comparable] struct {
	queue *Queue[K]
	step  func(context.Context, K) (Result, error)
	group worker.Group
}

// run is one worker.
func (p *process[K]) run(ctx context.Context) {
	ended := false
	defer func() {
		if !ended {
			// A step has ended this goroutine: another one goes on.
			p.group.Go(func() { p.run(ctx) })
		}
	}()
	for {
		k, err := p.queue.Get(ctx)
		if err != nil {
			ended = true
			return
		}
		p.work(ctx, k)
	}
}

// work does one step. Whatever the step does, the key does not stay in work.
func (p *process[K]) work(ctx context.Context, k K) {
	var result Result
	err := errExit
	defer func() {
		if value := recover(); value != nil {
			err = &PanicError{Value: value, Stack: debug.Stack()}
		}
		p.queue.Finish(k, result, err)
		p.log(ctx, k, err)
	}()
	result, err = p.step(ctx, k)
}

func (p *process[K]) log(ctx context.Context, k K, err error) {
	if err == nil {
		return
	}
	q := p.queue
	log := q.o.Logger.With("queue", q.o.Name, "key", k, "failures", q.Requeues(k))
	if panicked := (*PanicError)(nil); errors.As(err, &panicked) {
		log.ErrorContext(ctx, "workqueue: step panicked", "panic", panicked.Value, "stack", string(panicked.Stack))
		return
	}
	log.WarnContext(ctx, "workqueue: step failed", "error", err)
}
