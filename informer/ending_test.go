package informer_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/informer"
)

// slowContext is a context that the first one made of it can't leave before hold is closed. A
// registration makes its own context first, and is then told by it when this one is done.
type slowContext struct {
	context.Context
	made *int
	hold chan struct{}
}

// AfterFunc is what [context.AfterFunc] calls.
func (c slowContext) AfterFunc(f func()) (stop func() bool) {
	if *c.made++; *c.made > 1 {
		return context.AfterFunc(c.Context, f)
	}
	return func() bool {
		<-c.hold
		return true
	}
}

// Value hides the context inside, whose AfterFunc would be taken otherwise.
func (c slowContext) Value(any) any { return nil }

// TestRunWaitsForRegistrationsThatEnd: when the context of a handler and of Run is the same, Run
// does not return before the registration has ended, too.
func TestRunWaitsForRegistrationsThatEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, newServer(fakes.Options[*object]{}), informer.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		slow := slowContext{ctx, new(int), make(chan struct{})}
		reg, err := r.AddHandler(slow, (&diary{}).handle, informer.HandlerOptions{})
		require.NoError(t, err)
		returned := make(chan error, 1)
		go func() { returned <- r.Run(ctx) }()
		synctest.Wait()
		cancel()
		synctest.Wait()
		early := len(returned)
		close(slow.hold)
		require.NoError(t, <-returned)
		require.Zero(t, early, "Run waits")
		select {
		case <-reg.Done():
		default:
			require.Fail(t, "the registration has not ended")
		}
	})
}

// TestHandlerThatEndsItsGoroutineAtOnce: its first call may come before AddHandler has returned.
func TestHandlerThatEndsItsGoroutineAtOnce(t *testing.T) {
	t.Parallel()
	s := newServer(fakes.Options[*object]{})
	_, err := s.Put(named("a", "1"))
	require.NoError(t, err)
	r := newRig(t, s, informer.Options{}).start()
	require.NoError(t, r.WaitForSync(t.Context()))
	for range 3000 {
		reg := r.handle(func(context.Context, change) { runtime.Goexit() }, informer.HandlerOptions{})
		<-reg.Done()
	}
}
