// Package worker starts the goroutines of this module: the word go stands nowhere else in it.
package worker

import "sync"

// Group is a set of goroutines that can be waited for. The zero value is ready. Go and Wait
// may be called from any goroutine, Go also while Wait waits as long as another one runs.
type Group struct {
	running sync.WaitGroup
}

// Go runs f in a goroutine of the group.
func (g *Group) Go(f func()) {
	g.running.Add(1)
	go func() {
		defer g.running.Done()
		f()
	}()
}

// Wait blocks until all goroutines of the group have returned.
func (g *Group) Wait() { g.running.Wait() }
