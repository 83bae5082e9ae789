package hollow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/seed3bce33ad/listwatch/examples/runtime"
	"github.com/seed3bce33ad/listwatch/examples/runtime/internal/addresses"
	"github.com/seed3bce33ad/listwatch/examples/runtime/internal/feed"
)

// Options say how a runtime pretends. The zero value works.
type Options struct {
	// CIDR is where pods get their addresses from. Defaults to 10.244.0.0/24.
	CIDR netip.Prefix
	// Clock is the time. Defaults to the system's.
	Clock clock.Clock
	// Behave says how a container behaves; it is asked when the container is started. Defaults to the zero Behaviour.
	Behave func(runtime.SandboxConfig, runtime.ContainerConfig) Behaviour
	// Exec answers for commands in running containers. Defaults to 0, without any output.
	Exec func(context.Context, runtime.Container, runtime.Exec) (int, error)
	// Pull says which images are there, by an error that wraps runtime.ErrNotFound for those that are not. Defaults to all.
	Pull func(ctx context.Context, image string) error
}

// Behaviour is what a container does. The zero value starts at once, runs until it is stopped, and uses nothing.
type Behaviour struct {
	// StartDelay is how long StartContainer takes. FailStart is the error that it returns then.
	StartDelay time.Duration
	FailStart  error
	// ExitAfter is how long the container runs until it ends by itself, with ExitCode. Zero: for ever.
	ExitAfter time.Duration
	ExitCode  int
	// StopAfter is how long it takes to end when it is asked to. Less than zero: until it is killed.
	StopAfter time.Duration
	// MilliCPU and MemoryBytes are what it uses while it runs.
	MilliCPU, MemoryBytes int64
}

// Runtime pretends to run containers. It is a runtime.Service and a runtime.Images.
type Runtime struct {
	o    Options
	feed feed.Feed

	mu         sync.Mutex
	closed     bool                  // guarded by mu, as are those below
	made       int                   // counts ids
	sandboxes  map[string]*sandbox   // by id
	containers map[string]*container // by id
	images     map[string]bool
	pool       *addresses.Pool
}

type sandbox struct {
	runtime.Sandbox
	number int
}

type container struct {
	runtime.Container
	number    int
	podUID    string
	behaviour Behaviour
	exit      *clock.Timer  // ends it by itself, if it does
	asked     *clock.Timer  // ends it some time after it was asked to
	stopping  bool          // it was asked to end
	done      chan struct{} // closed when it has ended; made by the first who waits
}

// New returns a runtime without any containers. Close ends it.
func New(o Options) (*Runtime, error) {
	if !o.CIDR.IsValid() {
		o.CIDR = netip.MustParsePrefix("10.244.0.0/24")
	}
	if o.CIDR.Bits() == o.CIDR.Addr().BitLen() {
		return nil, fmt.Errorf("hollow: CIDR %s has a single address", o.CIDR)
	}
	if o.Clock == nil {
		o.Clock = clock.New()
	}
	if o.Behave == nil {
		o.Behave = func(runtime.SandboxConfig, runtime.ContainerConfig) Behaviour { return Behaviour{} }
	}
	if o.Exec == nil {
		o.Exec = func(context.Context, runtime.Container, runtime.Exec) (int, error) { return 0, nil }
	}
	if o.Pull == nil {
		o.Pull = func(context.Context, string) error { return nil }
	}
	return &Runtime{o: o, sandboxes: map[string]*sandbox{}, containers: map[string]*container{},
		images: map[string]bool{}, pool: addresses.New(o.CIDR)}, nil
}

// errClosed is what is returned after Close where something would have to be made.
var errClosed = errors.New("hollow: closed")

// Close ends and forgets everything. It does not block, and what is called later fails or does nothing.
func (r *Runtime) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for _, c := range r.containers {
		r.exitLocked(c, killed)
	}
	clear(r.containers)
	clear(r.sandboxes)
	return nil
}

// Exit ends a running container with a code, as if it had ended by itself. It returns runtime.ErrNotFound or
// runtime.ErrNotRunning.
func (r *Runtime) Exit(id string, code int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.containers[id]
	if c == nil {
		return fmt.Errorf("container %s: %w", id, runtime.ErrNotFound)
	}
	if c.State != runtime.Running {
		return fmt.Errorf("container %s: %w", id, runtime.ErrNotRunning)
	}
	r.exitLocked(c, code)
	return nil
}

// ContainerEvents follows the events. See runtime.Streams.
func (r *Runtime) ContainerEvents(ctx context.Context, f func(runtime.Event)) error {
	return r.feed.Follow(ctx, f)
}

// Exec runs a command, as Options.Exec pretends. See runtime.Streams.
func (r *Runtime) Exec(ctx context.Context, id string, e runtime.Exec) (int, error) {
	r.mu.Lock()
	c := r.containers[id]
	if c == nil {
		r.mu.Unlock()
		return 0, fmt.Errorf("container %s: %w", id, runtime.ErrNotFound)
	}
	told := c.Container
	r.mu.Unlock()
	if told.State != runtime.Running {
		return 0, fmt.Errorf("container %s: %w", id, runtime.ErrNotRunning)
	}
	return r.o.Exec(ctx, told, e)
}

// Stats returns what Behaviour lets running containers use. See runtime.Streams.
func (r *Runtime) Stats(context.Context) ([]runtime.Stats, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.o.Clock.Now()
	var all []runtime.Stats
	for _, c := range r.sortedLocked() {
		if c.State == runtime.Running {
			all = append(all, runtime.Stats{Container: c.ID, Sandbox: c.Sandbox, At: now, MemoryBytes: c.behaviour.MemoryBytes,
				CPU: now.Sub(c.Started) * time.Duration(c.behaviour.MilliCPU) / 1000})
		}
	}
	return all, nil
}

// PullImage has any image that Options.Pull does not refuse; its id is its name. See runtime.Images.
func (r *Runtime) PullImage(ctx context.Context, image string) (string, error) {
	if image == "" {
		return "", fmt.Errorf("image without a name: %w", runtime.ErrNotFound)
	}
	if err := r.o.Pull(ctx, image); err != nil {
		return "", err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.images[image] = true
	return image, nil
}

// ListImages returns what was pulled, by name. See runtime.Images.
func (r *Runtime) ListImages(context.Context) ([]string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	names := make([]string, 0, len(r.images))
	for name := range r.images {
		names = append(names, name)
	}
	slices.Sort(names)
	return names, nil
}

// sortedLocked returns the containers, the oldest first.
func (r *Runtime) sortedLocked() []*container {
	all := make([]*container, 0, len(r.containers))
	for _, c := range r.containers {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b *container) int { return cmp.Compare(a.number, b.number) })
	return all
}
