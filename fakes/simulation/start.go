package simulation

import (
	"context"
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
)

// running is one function given to Start.
type running struct {
	run    func(context.Context) error
	cancel context.CancelFunc
	done   *listwatch.Signal
}

// Start has run called at once, in a goroutine of its own: a controller with all that it needs
// in memory. Scenarios end its ctx at random moments, wait until it has returned, and call it
// again, as when a process is replaced. One that returns an error is called again after ten
// seconds, as a crashed process is; one that returns nil early has ended.
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
			if err := r.run(ctx); err == nil || ctx.Err() != nil {
				return
			}
			_ = timing.Sleep(ctx, w.clock, crashPause)
		}
	})
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
