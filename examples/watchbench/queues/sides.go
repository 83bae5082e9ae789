package queues

import (
	"context"
	"time"

	peer "k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	"github.com/seed3bce33ad/listwatch/workqueue"
)

// ours is this library's queue. It counts its statistics all the time, which the peers' queues
// do only when they are given a metrics provider, and here they are not.
type ours struct {
	*workqueue.Queue[key]
}

func newOurs() ours { return ours{workqueue.New[key](workqueue.Options{})} }

func (o ours) Get() (key, bool) {
	k, err := o.Queue.Get(context.Background())
	return k, err == nil
}

func (o ours) ShutDown() { o.Close() }

func (o ours) AddPriority(k key, priority int) {
	o.AddWith(k, workqueue.AddOptions{Priority: priority})
}

func limiter() peer.TypedRateLimiter[key] {
	return peer.NewTypedItemExponentialFailureRateLimiter[key](5*time.Millisecond, 1000*time.Second)
}

// theirs is client-go's queue.
type theirs struct {
	peer.TypedRateLimitingInterface[key]
}

func newTheirs() theirs { return theirs{peer.NewTypedRateLimitingQueue(limiter())} }

func (t theirs) Get() (key, bool) {
	k, shutDown := t.TypedRateLimitingInterface.Get()
	return k, !shutDown
}

func (t theirs) AddPriority(k key, _ int) { t.Add(k) }

// ranked is controller-runtime's queue. Without a name it keeps no metrics.
type ranked struct {
	priorityqueue.PriorityQueue[key]
	down *bool
	// levels are priorities to point to, so that to give one costs no memory.
	levels *[levels]int
}

func newRanked() ranked {
	r := ranked{priorityqueue.New[key](""), new(bool), new([levels]int)}
	for n := range r.levels {
		r.levels[n] = n
	}
	return r
}

func (r ranked) Get() (key, bool) {
	k, shutDown := r.PriorityQueue.Get()
	return k, !shutDown
}

// ShutDown may be called again, which the queue's own may not.
func (r ranked) ShutDown() {
	if !*r.down {
		*r.down = true
		r.PriorityQueue.ShutDown()
	}
}

func (r ranked) AddPriority(k key, priority int) {
	r.AddWithOpts(priorityqueue.AddOpts{Priority: &r.levels[priority]}, k)
}
