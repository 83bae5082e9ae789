package fakes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/internal/timing"
)

// ErrMutated: an object was changed after it had been delivered.
var ErrMutated = errors.New("a shared object was changed")

// DetectorOptions say how a [Detector] works. The zero value works.
type DetectorOptions struct {
	// Retention is how long an object is watched for changes after its delivery. It bounds
	// the detector's memory. Defaults to 2 minutes.
	Retention time.Duration
	// Encode turns an object into text that shows all that may not change. Defaults to
	// encoding/json with indentation.
	Encode func(any) ([]byte, error)
	// Report is told of each changed object, once, when a retention ends or Check finds it. It
	// may be called by several goroutines at once. Defaults to a panic in the goroutine of the
	// List or Watch that finds it, which makes a test fail loudly, and to nothing in Check.
	Report func(error)
	// Clock tells the time. Defaults to the real clock.
	Clock clock.Clock
}

func (o DetectorOptions) withDefaults() DetectorOptions {
	if o.Retention == 0 {
		o.Retention = 2 * time.Minute
	}
	if o.Encode == nil {
		o.Encode = func(v any) ([]byte, error) { return json.MarshalIndent(v, "", "  ") }
	}
	o.Clock = timing.Or(o.Clock)
	return o
}

// Detector is a source for tests that finds out who changes shared objects: it remembers what
// each object looked like when it was delivered, and compares. Objects are looked at when
// their retention has passed and something else is delivered, and by Check. It costs an
// encoding of each object and a copy of it in memory. All methods are safe for concurrent use.
type Detector[T listwatch.Object] struct {
	source  listwatch.ListerWatcher[T]
	options DetectorOptions

	mu      sync.Mutex
	watched []watched[T] // guarded by mu; oldest first
}

// watched is an object with what it looked like at first.
type watched[T listwatch.Object] struct {
	object T
	was    []byte
	until  time.Time
}

// DetectMutations returns a source that delivers what another one delivers, and detects changes
// to it.
func DetectMutations[T listwatch.Object](source listwatch.ListerWatcher[T], o DetectorOptions) *Detector[T] {
	return &Detector[T]{source: source, options: o.withDefaults()}
}

// List lists the source.
func (d *Detector[T]) List(ctx context.Context, o listwatch.ListOptions, each func(...T) error) (listwatch.ListMeta, error) {
	return d.source.List(ctx, o, func(objects ...T) error {
		d.remember(objects...)
		return each(objects...)
	})
}

// Watch watches the source.
func (d *Detector[T]) Watch(ctx context.Context, o listwatch.WatchOptions, each func(...listwatch.Event[T]) error) error {
	return d.source.Watch(ctx, o, func(events ...listwatch.Event[T]) error {
		for _, e := range events {
			if e.Type == listwatch.Added || e.Type == listwatch.Modified || e.Type == listwatch.Deleted {
				d.remember(e.Object)
			}
		}
		return each(events...)
	})
}

// Check looks at all objects that are remembered, and returns what was changed, joined, or nil. It
// tells each to [DetectorOptions].Report too, and does not panic when there is none. Objects that it found
// changed are forgotten.
func (d *Detector[T]) Check() error {
	return d.look(func(watched[T]) bool { return true }, false)
}

// Len returns the number of objects that are remembered.
func (d *Detector[T]) Len() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.watched)
}

func (d *Detector[T]) remember(objects ...T) {
	now := d.options.Clock.Now()
	err := d.look(func(w watched[T]) bool { return !now.Before(w.until) }, true)
	if err != nil && d.options.Report == nil {
		panic(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, o := range objects {
		if was, err := d.options.Encode(o); err == nil {
			d.watched = append(d.watched, watched[T]{o, was, now.Add(d.options.Retention)})
		}
	}
}

// look compares what is due, and forgets what was changed or, if told so, all of it.
func (d *Detector[T]) look(due func(watched[T]) bool, forget bool) error {
	var found []error
	d.mu.Lock()
	kept := d.watched[:0]
	for _, w := range d.watched {
		if !due(w) {
			kept = append(kept, w)
			continue
		}
		is, err := d.options.Encode(w.object)
		switch {
		case err != nil:
			found = append(found, fmt.Errorf("%w: it cannot be encoded any more: %w", ErrMutated, err))
		case !bytes.Equal(is, w.was):
			found = append(found, fmt.Errorf("%w: %s\n%s", ErrMutated, listwatch.KeyOf(w.object), difference(w.was, is)))
		case !forget:
			kept = append(kept, w)
		}
	}
	clear(d.watched[len(kept):])
	d.watched = kept
	d.mu.Unlock()
	if d.options.Report != nil {
		for _, err := range found {
			d.options.Report(err)
		}
	}
	return errors.Join(found...)
}

// difference shows the lines between the first and the last that differ.
func difference(was, is []byte) string {
	a, b := strings.Split(string(was), "\n"), strings.Split(string(is), "\n")
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	var out strings.Builder
	for _, line := range a {
		out.WriteString("- " + line + "\n")
	}
	for _, line := range b {
		out.WriteString("+ " + line + "\n")
	}
	return out.String()
}
