// Package crew keeps the parts of a cluster running, each in a goroutine of this process or in a process of its own: one that
// ends by itself is started again.
//
// # Usage
//
//	c := crew.New(crew.Options{Names: settings.Names(), Launch: crew.Here(settings, observe), Logger: logger})
//	defer c.Close()
//	err := c.StartAll(ctx)
//
// # Guarantees
//
//  1. All parts start, the API server first, and end in the other order. (TestCrew)
//  2. A part that ends by itself, or is killed, is started again. (TestStartedAgain)
//  3. No process of a part outlives this one. (TestProcessesEndWithTheirParent)
//
// # Concurrency
//
// All methods are safe for concurrent use. Close leaves no goroutine and no process.
package crew

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/seed3bce33ad/listwatch/examples/cluster/parts"
	"github.com/seed3bce33ad/listwatch/internal/timing"
)

// pause is how long a part that has ended by itself is left.
const pause = time.Second

// Launch runs a part until ctx is done, and returns when nothing of it is left. It calls ready when others can use the part.
type Launch func(ctx context.Context, name string, ready func()) error

// Options say who is in a crew. Names, Launch and Logger must be set.
type Options struct {
	// Names are the parts in the order in which they are started.
	Names []string
	// Launch runs a part.
	Launch Launch
	// Logger returns who hears of a part's end.
	Logger func(part string) *slog.Logger
	// Clock is the time. Defaults to the real one.
	Clock clock.Clock
}

// Crew runs parts. Make one with [New].
type Crew struct {
	Options

	all     sync.WaitGroup // a goroutine for each part that is to run
	mu      sync.Mutex
	running map[string]*member
}

// member is a part that is to run.
type member struct {
	cancel context.CancelFunc
	ended  chan struct{}
	// again ends the present run of the part alone. Guarded by the crew's mu.
	again context.CancelCauseFunc
}

// errKilled is why a run ends that [Crew.Kill] has ended.
var errKilled = errors.New("killed")

// New returns a crew of which nobody runs yet.
func New(o Options) *Crew {
	o.Clock = timing.Or(o.Clock)
	return &Crew{Options: o, running: map[string]*member{}}
}

// StartAll starts all parts: the others when the API server answers. It returns an error when that doesn't come.
func (c *Crew) StartAll(ctx context.Context) error {
	for _, name := range c.Names {
		if err := c.Start(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// Start starts a part that doesn't run, and in the case of the API server blocks until it answers or ctx is done.
func (c *Crew) Start(ctx context.Context, name string) error {
	lives, cancel := context.WithCancel(context.Background())
	m := &member{cancel: cancel, ended: make(chan struct{})}
	c.mu.Lock()
	runs := c.running[name] != nil
	if !runs {
		c.running[name] = m
	}
	c.mu.Unlock()
	if runs {
		cancel()
		return fmt.Errorf("crew: %s runs", name)
	}
	ready, failed := make(chan struct{}), make(chan error, 1)
	c.all.Go(func() {
		defer close(m.ended)
		c.keep(lives, name, m, sync.OnceFunc(func() { close(ready) }), failed)
	})
	if name != parts.APIServer {
		return nil
	}
	select {
	case <-ready:
		return nil
	case err := <-failed:
		return fmt.Errorf("%s: %w", name, err)
	case <-m.ended:
		return fmt.Errorf("crew: %s was stopped", name)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// keep runs a part again and again. The first failure is told.
func (c *Crew) keep(ctx context.Context, name string, m *member, ready func(), failed chan<- error) {
	for ctx.Err() == nil {
		run, cancel := context.WithCancelCause(ctx)
		c.mu.Lock()
		m.again = cancel
		c.mu.Unlock()
		err := c.Launch(run, name, ready)
		killed := errors.Is(context.Cause(run), errKilled)
		cancel(nil)
		if ctx.Err() != nil {
			if err != nil {
				c.Logger(name).Error("ended", "error", err)
			}
			return
		}
		if killed {
			continue
		}
		select {
		case failed <- err:
		default:
		}
		c.Logger(name).Error("ended, and is started again", "error", err)
		_ = timing.Sleep(ctx, c.Clock, pause) // it ends with ctx, as the loop does
	}
}

// Kill ends a part at once, which is started again then. In this process it ends as by [Crew.Stop].
func (c *Crew) Kill(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m := c.running[name]; m != nil && m.again != nil {
		m.again(errKilled)
	}
}

// Stop ends a part and blocks until nothing of it is left but pods.
func (c *Crew) Stop(name string) {
	c.mu.Lock()
	m := c.running[name]
	c.mu.Unlock()
	if m == nil {
		return
	}
	m.cancel()
	<-m.ended
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running[name] == m { // another may have been started since
		delete(c.running, name)
	}
}

// Close ends all parts, the API server last.
func (c *Crew) Close() {
	for _, name := range slices.Backward(c.Names) {
		c.Stop(name)
	}
}

// Here launches parts in this process. Observe says who watches a part; its Ready is the crew's.
func Here(s parts.Settings, observe func(part string) parts.Observer) Launch {
	return func(ctx context.Context, name string, ready func()) error {
		o := observe(name)
		o.Ready = ready
		return parts.Run(ctx, s, name, o)
	}
}
