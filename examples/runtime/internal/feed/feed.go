// Package feed hands the events of a runtime to those who follow them.
package feed

import (
	"context"
	"sync"

	"github.com/seed3bce33ad/listwatch/examples/runtime"
)

// Feed hands events on. The zero value is ready; all methods are safe for concurrent use.
type Feed struct {
	mu        sync.Mutex
	followers map[*follower]bool // guarded by mu
}

// follower is a call of Follow. An event that waits already is not queued again, so that the queue of one who is slow
// grows with what there is to look at, not with what has happened.
type follower struct {
	waiting []runtime.Event
	queued  map[runtime.Event]bool
	wake    chan struct{}
}

// Publish tells an event to all followers. It does not wait for them.
func (f *Feed) Publish(e runtime.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for to := range f.followers {
		if to.queued[e] {
			continue
		}
		to.queued[e] = true
		to.waiting = append(to.waiting, e)
		select {
		case to.wake <- struct{}{}:
		default:
		}
	}
}

// Follow calls call with an empty event and then with what is published, until ctx is done, and returns its cause.
func (f *Feed) Follow(ctx context.Context, call func(runtime.Event)) error {
	me := &follower{queued: map[runtime.Event]bool{}, wake: make(chan struct{}, 1)}
	f.mu.Lock()
	if f.followers == nil {
		f.followers = map[*follower]bool{}
	}
	f.followers[me] = true
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		delete(f.followers, me)
		f.mu.Unlock()
	}()
	call(runtime.Event{})
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-me.wake:
		}
		f.mu.Lock()
		events := me.waiting
		me.waiting = nil
		clear(me.queued)
		f.mu.Unlock()
		for _, e := range events {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			call(e)
		}
	}
}
