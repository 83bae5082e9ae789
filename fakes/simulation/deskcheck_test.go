package simulation_test

import (
	"slices"
	"time"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

// begin notes the begin of a step, checks that there is a reason for it, and returns what it is
// to do.
func (d *desk) begin(k listwatch.Key) (plan string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	j := d.jobLocked(k)
	now := d.c.Now()
	if j.working {
		d.c.Fail(oneWorker, "%s is in two workers", k)
	}
	if d.busy++; d.busy > d.workers {
		d.c.Fail(oneWorker, "%d steps at once, %d workers", d.busy, d.workers)
	}
	switch p := j.parked; {
	case p == nil:
		d.checkReasonLocked(k, j, now)
	case now.Before(p.notBefore) && !(p.signal.Fired() && j.early(now) == 0):
		// Once the signal has fired, an add takes the place of the delay.
		d.c.Fail(ownWrites, "%s is handed out %s before its delay is over", k, p.notBefore.Sub(now))
	case !p.signal.Fired() && now.Before(p.until):
		d.c.Fail(ownWrites, "%s is handed out before its signal, %s before its deadline", k, p.until.Sub(now))
	case p.signal.Fired():
		d.checkWrittenLocked(k, j)
	}
	j.maybe = slices.DeleteFunc(j.due, func(r reason) bool { return r.noted.Before(now) })
	j.due, j.parked, j.working, j.written = nil, nil, true, 0
	if len(j.plans) > 0 {
		plan, j.plans = j.plans[0], j.plans[1:]
	}
	return plan
}

// checkReasonLocked checks that a step is neither without reason nor early.
func (d *desk) checkReasonLocked(k listwatch.Key, j *job, now time.Time) {
	if early := j.early(now); early < 0 {
		d.c.Fail(oneWorker, "%s is handed out, though nobody asked for it", k)
	} else if early > 0 {
		d.c.Fail(oneWorker, "%s is handed out %s before it is due", k, early)
	}
}

// early returns how long it takes until there is a reason for a step: 0 when there is one, less
// when there will be none.
func (j *job) early(now time.Time) time.Duration {
	early := time.Duration(-1)
	for _, r := range slices.Concat(j.due, j.maybe) {
		if left := max(0, r.due.Sub(now)); early < 0 || left < early {
			early = left
		}
	}
	return early
}

// checkWrittenLocked checks that the cache shows what the step before wrote.
func (d *desk) checkWrittenLocked(k listwatch.Key, j *job) {
	lossy, history := d.c.model.state()
	if j.written == 0 || lossy || j.history != history {
		return
	}
	if reason := d.c.behind(k, j.written-1); reason != "" {
		d.c.Fail(ownWrites, "a step waited for its own write, but %s", reason)
	}
}

// end notes the end of a step and what follows from it.
func (d *desk) end(k listwatch.Key, r workqueue.Result, plan string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	j := d.jobLocked(k)
	d.busy--
	j.working = false
	now := d.c.Now()
	switch {
	case r.Await != nil:
		j.parked = &parking{signal: r.Await, until: now.Add(r.After)}
		if err == nil {
			j.parked.notBefore = now
		}
		j.due, j.maybe = nil, nil
	case err == nil && plan != "panic" && plan != "exit" && r.After > 0:
		j.due = append(j.due, d.reason(r.After))
	}
}

// look checks that nothing is late while a worker is free.
func (d *desk) look() {
	if !d.c.Still() {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || d.busy >= d.workers || d.c.ctx.Err() != nil {
		return
	}
	now := d.c.Now()
	for k, j := range d.jobs {
		switch p := j.parked; {
		case j.working:
		case p != nil && !now.Before(p.until):
			d.c.Fail(oneWorker, "%s is parked %s after its deadline", k, now.Sub(p.until))
		case p != nil && p.signal.Fired() && !now.Before(p.notBefore):
			d.c.Fail(ownWrites, "%s is parked, though its signal has fired", k)
		case p == nil:
			for _, r := range j.due {
				if !r.due.After(now) {
					d.c.Fail(oneWorker, "%s was due %s ago, and a worker is free", k, now.Sub(r.due))
				}
			}
		}
	}
}

// rest checks that nothing was forgotten. What is parked or fails may wait for long.
func (d *desk) rest() {
	if s := d.queue.Stats(); !d.closed && s.Ready > 0 && s.Working < d.workers {
		d.c.Fail(oneWorker, "%d keys are ready, and a worker is free", s.Ready)
	}
}
