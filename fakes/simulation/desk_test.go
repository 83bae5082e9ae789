package simulation_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

// desk is the work queue of a client with its workers, and a model of what is to be done when.
type desk struct {
	c       *client
	queue   *workqueue.Queue[listwatch.Key]
	workers int
	ended   listwatch.Signal

	// mu is held over each call of the queue that adds or takes back, together with its note here,
	// and guards all below.
	mu   sync.Mutex
	jobs map[listwatch.Key]*job
	busy int
	// closed: nothing is lost any more, since nothing is promised.
	closed bool
}

// job is what is known of one key.
type job struct {
	plans []string
	// due are the reasons to do it: each is met by the first step that begins later.
	due []reason
	// maybe are reasons that the queue may count to the step before: they came between the time
	// when it handed out the key and the begin of the step.
	maybe   []reason
	working bool
	parked  *parking
	// written is the place in the key's line of what the last step wrote, and the history it is of.
	written, history int
}

// reason is an add of a key, or an error, or a wish of a step.
type reason struct{ noted, due time.Time }

// parking is a key that waits for a signal.
type parking struct {
	signal           *listwatch.Signal
	notBefore, until time.Time
}

func newDesk(c *client, workers int) *desk {
	d := &desk{c: c, workers: workers, jobs: make(map[listwatch.Key]*job)}
	d.queue = workqueue.New(workqueue.Options{Name: c.name, Logger: c.log}, workqueue.Policy[listwatch.Key]{
		Limiter: &noted{Limiter: new(workqueue.Exponential[listwatch.Key]), d: d},
	})
	return d
}

// noted is a limiter whose delays the desk knows of.
type noted struct {
	workqueue.Limiter[listwatch.Key]
	d *desk
}

// When notes the delay of a step that failed. Keys are added with a limit under the desk's lock.
func (n *noted) When(k listwatch.Key) time.Duration {
	delay := n.Limiter.When(k)
	n.d.mu.Lock()
	defer n.d.mu.Unlock()
	j := n.d.jobLocked(k)
	if p := j.parked; p != nil && p.notBefore.IsZero() {
		now := n.d.c.Now()
		p.notBefore = now.Add(delay)
		p.until = later(p.until, p.notBefore)
		return delay
	}
	j.due = append(j.due, n.d.reason(delay))
	return delay
}

func (d *desk) reason(after time.Duration) reason {
	now := d.c.Now()
	return reason{now, now.Add(max(after, 0))}
}

func (d *desk) jobLocked(k listwatch.Key) *job {
	j := d.jobs[k]
	if j == nil {
		j = new(job)
		d.jobs[k] = j
	}
	return j
}

// feed has the informer's changes put into the queue.
func (d *desk) feed() {
	enqueue := informer.ToQueue[*object](d.queue)
	_, err := d.c.pods.AddHandler(d.c.ctx, func(ctx context.Context, c change) {
		d.mu.Lock()
		defer d.mu.Unlock()
		j := d.jobLocked(c.Key)
		j.due = append(j.due, d.reason(0))
		enqueue(ctx, c)
	}, informer.HandlerOptions{})
	if err != nil {
		d.c.Fail(ownFault, "AddHandler: %v", err)
	}
}

// work runs the workers until the client's end.
func (d *desk) work() {
	defer d.ended.Fire()
	if err := workqueue.Process(d.c.ctx, d.queue, d.workers, d.step); err != nil {
		d.c.Fail(oneWorker, "Process: %v", err)
	}
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	d.queue.Close()
}

// add is the operation of that name.
func (d *desk) add(o map[string]string) {
	k, err := parseKey(o["key"])
	if err != nil {
		return
	}
	if _, limited := o["limited"]; limited {
		d.queue.AddRateLimited(k) // the limiter notes it
		return
	}
	_, replace := o["replace"]
	after := duration(o["after"])
	d.mu.Lock()
	defer d.mu.Unlock()
	j := d.jobLocked(k)
	if replace && j.parked != nil && j.parked.signal.Fired() {
		j.parked = nil // it was ready, and is put off
	}
	if replace && j.parked == nil {
		j.maybe = append(j.maybe, j.due...)
		j.due = nil
	}
	j.due = append(j.due, d.reason(after))
	d.queue.AddWith(k, workqueue.AddOptions{After: after, Priority: integer(o["priority"]), Replace: replace})
}

// cancel takes back what is not due.
func (d *desk) cancel(o map[string]string) {
	k, err := parseKey(o["key"])
	if err != nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	j := d.jobLocked(k)
	if !d.queue.Cancel(k) {
		return
	}
	j.parked = nil
	now := d.c.Now()
	kept := j.due[:0]
	for _, r := range j.due {
		if !r.due.After(now) {
			kept = append(kept, r)
		}
	}
	j.due = kept
}

func (d *desk) drain() {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	ctx, cancel := context.WithTimeout(d.c.ctx, time.Minute)
	defer cancel()
	if _, err := d.queue.Drain(ctx); err != nil && ctx.Err() == nil {
		d.c.Fail(oneWorker, "Drain: %v", err)
	}
}

// plan says what a later step of a key does.
func (d *desk) plan(o map[string]string) {
	if k, err := parseKey(o["key"]); err == nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		j := d.jobLocked(k)
		j.plans = append(j.plans, o["do"])
	}
}

var errPlanned = errors.New("as planned")

// step is the process function.
func (d *desk) step(ctx context.Context, k listwatch.Key) (result workqueue.Result, err error) {
	plan := d.begin(k)
	defer func() { d.end(k, result, plan, err) }()
	switch plan {
	case "fail":
		return result, errPlanned
	case "panic":
		panic(errPlanned)
	case "exit":
		runtime.Goexit()
	case "nap":
		time.Sleep(3 * time.Second)
	case "after":
		result.After = 3 * time.Second
	case "write":
		d.write(k)
	case "await", "await-fail":
		result = workqueue.Result{Await: d.c.pods.Reached(d.write(k)), After: 20 * time.Second}
		if plan == "await-fail" {
			err = errPlanned
		}
	case "never":
		result = workqueue.Result{Await: new(listwatch.Signal), After: 5 * time.Second}
	}
	return result, err
}

// write writes the key's own object, and returns the version of that.
func (d *desk) write(k listwatch.Key) string {
	o := d.c.model.put(k, "v1")
	places, history := d.c.view.places()
	d.mu.Lock()
	defer d.mu.Unlock()
	j := d.jobLocked(k)
	j.written, j.history = places[k]+1, history
	if d.c.opaque {
		return hide(o.ResourceVersion)
	}
	return o.ResourceVersion
}
