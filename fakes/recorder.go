package fakes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/internal/identity"
)

// maxFaults is how many broken promises a Recorder keeps; the first ones tell the story.
const maxFaults = 20

// Recorder is a handler that notes what it is told and checks that a handler may be told so:
// calls never overlap; for each key Add comes first, then Updates, then Delete; Old is what was
// told last; versions never go back; an Update is a change and keeps the identity.
//
// Its [Recorder.Handle] is an [informer.Handler]. The zero value is ready; all methods are
// safe for concurrent use. It keeps every change until [Recorder.Forget]. A Recorder must not
// be copied.
type Recorder[T listwatch.Object] struct {
	// calls is how many calls of Handle are running.
	calls atomic.Int64

	// mu guards everything below. It is not held while a condition of WaitFor runs.
	mu      sync.Mutex
	changes []informer.Change[T]
	// told is what was told last of each key that is held.
	told map[listwatch.Key]T
	// newest is the newest version told of each key, gone ones included.
	newest map[listwatch.Key]string
	faults []error
	uid    func(T) string
	// held is closed when the calls that hang may return; nil: none does.
	held chan struct{}
	// wake is closed and forgotten at the next change; nil when nobody waits.
	wake chan struct{}
}

// Handle notes a change. It blocks only between [Recorder.Hold] and its release, until ctx is
// done.
func (r *Recorder[T]) Handle(ctx context.Context, c informer.Change[T]) {
	calls := r.calls.Add(1)
	defer r.calls.Add(-1)
	if held := r.note(c, calls > 1); held != nil {
		select {
		case <-held:
		case <-ctx.Done():
		}
	}
}

func (r *Recorder[T]) note(c informer.Change[T], overlap bool) (held <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.told == nil {
		r.told, r.newest = make(map[listwatch.Key]T), make(map[listwatch.Key]string)
		r.uid = identity.Of[T]()
	}
	if overlap {
		r.faultLocked("%s: the call began while another one was running", c.Key)
	}
	r.checkLocked(c)
	r.changes = append(r.changes, c)
	if c.Type == informer.Delete {
		delete(r.told, c.Key)
	} else {
		r.told[c.Key] = c.Object
	}
	if r.wake != nil {
		close(r.wake)
		r.wake = nil
	}
	return r.held
}

// Hold lets calls of Handle, from the next one on, block after they have noted their change: a
// handler that hangs. Release ends that; it may be called more than once. A second Hold before
// the release replaces the first one, whose release then only frees the calls from before.
func (r *Recorder[T]) Hold() (release func()) {
	held := make(chan struct{})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held = held
	return sync.OnceFunc(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.held == held {
			r.held = nil
		}
		close(held)
	})
}

func (r *Recorder[T]) checkLocked(c informer.Change[T]) {
	last, held := r.told[c.Key]
	switch {
	case c.Type == informer.Add && held:
		r.faultLocked("%s: Add of version %s, but %s is held", c.Key, c.Object.GetResourceVersion(), last.GetResourceVersion())
	case c.Type == informer.Add:
	case c.Type != informer.Update && c.Type != informer.Delete:
		r.faultLocked("%s: unknown type %s", c.Key, c.Type)
	case !held:
		r.faultLocked("%s: %s of what is not held", c.Key, c.Type)
	default:
		r.checkOldLocked(c, last)
	}
	if k := listwatch.KeyOf(c.Object); k != c.Key {
		r.faultLocked("%s: Object is %s", c.Key, k)
	}
	version := c.Object.GetResourceVersion()
	newest, known := r.newest[c.Key]
	if listwatch.Newer(newest, version) {
		r.faultLocked("%s: %s of version %s after %s", c.Key, c.Type, version, newest)
	}
	if known || c.Type != informer.Delete { // otherwise the end of a state from before a restore: what comes may be older
		r.newest[c.Key] = version
	}
}

// checkOldLocked checks a change of what is held.
func (r *Recorder[T]) checkOldLocked(c informer.Change[T], last T) {
	if old := c.Old.GetResourceVersion(); old != last.GetResourceVersion() || !reflect.DeepEqual(c.Old, last) {
		r.faultLocked("%s: Old of %s is version %s, told last was %s", c.Key, c.Type, old, last.GetResourceVersion())
	}
	if c.Type == informer.Delete {
		return
	}
	if a, b := r.uid(last), r.uid(c.Object); a != b {
		r.faultLocked("%s: Update of identity %s to %s", c.Key, a, b)
	}
	if same := reflect.DeepEqual(last, c.Object); same != c.Resync {
		r.faultLocked("%s: Update from version %s to %s with Resync %t", c.Key, last.GetResourceVersion(), c.Object.GetResourceVersion(), c.Resync)
	}
}

func (r *Recorder[T]) faultLocked(format string, args ...any) {
	if len(r.faults) < maxFaults {
		r.faults = append(r.faults, fmt.Errorf("change %d: "+format, append([]any{len(r.changes)}, args...)...))
	}
}

// Changes returns what was told so far, in order.
func (r *Recorder[T]) Changes() []informer.Change[T] {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.changes)
}

// Held returns what exists according to what was told.
func (r *Recorder[T]) Held() map[listwatch.Key]T {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.told)
}

// Err returns the first promises that were broken, joined; nil: none was.
func (r *Recorder[T]) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return errors.Join(r.faults...)
}

// Check reports what [Recorder.Err] returns to a test.
func (r *Recorder[T]) Check(t interface {
	Helper()
	Errorf(format string, args ...any)
}) {
	t.Helper()
	if err := r.Err(); err != nil {
		t.Errorf("the handler was told what it must not be:\n%v", err)
	}
}

// Forget drops the changes noted so far. What is held and what was broken stays.
func (r *Recorder[T]) Forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changes = nil
}

// Restored says that the server was taken back to an older state: versions may go back from
// now on, once for each key.
func (r *Recorder[T]) Restored() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.newest)
}

// Wait blocks until n changes have been noted since the start or the last [Recorder.Forget].
// When ctx is done before, it returns an error that wraps ctx's cause and says how many were.
func (r *Recorder[T]) Wait(ctx context.Context, n int) error {
	return r.WaitFor(ctx, func(changes []informer.Change[T]) bool { return len(changes) >= n })
}

// WaitFor blocks until done reports true of the changes noted so far; it is asked now and
// after further ones. When ctx is done before, it returns an error that wraps ctx's cause.
func (r *Recorder[T]) WaitFor(ctx context.Context, done func([]informer.Change[T]) bool) error {
	for {
		r.mu.Lock()
		if r.wake == nil {
			r.wake = make(chan struct{})
		}
		changes, wake := slices.Clone(r.changes), r.wake
		r.mu.Unlock()
		if done(changes) {
			return nil
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return fmt.Errorf("waiting for changes, %d noted: %w", len(changes), context.Cause(ctx))
		}
	}
}
