package simulation

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/internal/timing"
)

const (
	// stopTime is how long what was started may take to end.
	stopTime = time.Minute
	// lastTime is how long it may take beyond that, though the scenario has failed.
	lastTime = time.Hour
	// crashPause is how long after an error it is started again.
	crashPause = 10 * time.Second
)

// The promises that are checked of all that is started.
const (
	promiseStop = "what was started ends with its context"
	promiseLeak = "nothing is left behind"
	promiseLive = "nothing waits for ever"
	promiseCalm = "what was started does not panic"
	promiseRuns = "what was started goes on at rest"
)

// running is one function given to Start.
type running struct {
	run    func(context.Context) error
	cancel context.CancelFunc
	done   *listwatch.Signal

	mu sync.Mutex
	// failure is the last error it returned, at failed; guarded by mu.
	failure error
	failed  time.Time
}

// Start has run called at once, in a goroutine of its own: a controller with all that it needs
// in memory. Scenarios end its ctx at random moments, wait until it has returned, and call it
// again, as when a process is replaced. One that returns an error is called again after ten
// seconds, as a crashed process is, and must not do that any more at rest; one that returns nil
// early has ended. A panic in the goroutine that calls run breaks a promise; one elsewhere ends the
// process, and the seeds under way are in the log.
func (w *World) Start(run func(ctx context.Context) error) {
	r := &running{run: run}
	if len(w.runs) == 0 {
		w.weigh("restart", 1)
	}
	w.runs = append(w.runs, r)
	w.launch(r)
}

func (w *World) launch(r *running) {
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel, r.done = cancel, new(listwatch.Signal)
	done := r.done
	w.workers.Go(func() {
		defer done.Fire()
		for ctx.Err() == nil {
			if err := w.call(r, ctx); err == nil || ctx.Err() != nil {
				return
			}
			_ = timing.Sleep(ctx, w.clock, crashPause)
		}
	})
}

// call runs what was started, and notes how it failed.
func (w *World) call(r *running, ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
			w.Fail(promiseCalm, "%v\n%s", p, debug.Stack())
		}
		if err != nil && ctx.Err() == nil {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.failure, r.failed = err, w.Now()
		}
	}()
	return r.run(ctx)
}

// lookAtRuns checks that nothing that was started fails since a time.
func (w *World) lookAtRuns(since time.Time) {
	for _, r := range w.runs {
		r.mu.Lock()
		if r.failure != nil && !r.failed.Before(since) {
			w.Fail(promiseRuns, "it failed %s before: %v", w.Now().Sub(r.failed), r.failure)
		}
		r.mu.Unlock()
	}
}

// stop ends everything that was started.
func (w *World) stop() {
	for _, r := range w.runs {
		r.cancel()
	}
	var late listwatch.Signal
	stop := timing.AfterFunc(w.clock, stopTime, late.Fire)
	defer stop()
	for _, r := range w.runs {
		select {
		case <-r.done.Done():
		case <-late.Done():
			w.Fail(promiseStop, "it still runs %s after that", stopTime)
			_ = timing.Sleep(context.Background(), w.clock, lastTime) // to leave less behind
			return
		}
	}
}

// restart ends everything that was started, and starts it again.
func (w *World) restart() {
	w.stop()
	for _, r := range w.runs {
		if !w.failed() {
			w.launch(r)
		}
	}
}
