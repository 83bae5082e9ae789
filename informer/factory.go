package informer

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/internal/worker"
)

// Factory runs many informers as one, each under a name. The zero value works. All methods are
// safe for concurrent use; a Factory must not be copied after the first use.
type Factory struct {
	// Options are those of each informer, but for the name. They must not change after the
	// first call of Of.
	Options Options

	mu      sync.Mutex
	members map[string]*member // guarded by mu, as is all below
	names   []string           // in the order of Of
	ctx     context.Context    // Run's, while it runs
	state   state
	workers worker.Group
}

// member is an informer without its type.
type member struct {
	informer interface {
		Inspected
		Run(context.Context) error
		WaitForSync(context.Context) error
	}
	cancel context.CancelFunc // nil before it was started
	done   chan struct{}      // closed when its Run has returned
	err    error              // what Run returned; read after done
}

// Of returns the factory's informer of that name, and makes it on the first call; later calls
// do not look at source. When the factory runs already, a new informer is started at once.
//
// It returns an error when the name belongs to an informer of another type, and one that wraps
// listwatch.ErrStopped when the factory's Run has ended.
func Of[T listwatch.Object](f *Factory, name string, source listwatch.ListerWatcher[T]) (*Informer[T], error) {
	if name == "" {
		return nil, errors.New("factory: an informer needs a name")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if m, ok := f.members[name]; ok {
		i, ok := m.informer.(*Informer[T])
		if !ok {
			return nil, fmt.Errorf("informer %s is a %T, not a %T", name, m.informer, i)
		}
		return i, nil
	}
	if f.state == isStopped {
		return nil, fmt.Errorf("informer %s: factory: %w", name, listwatch.ErrStopped)
	}
	o := f.Options
	o.Name = name
	i := New(source, o)
	m := &member{informer: i, done: make(chan struct{})}
	if f.members == nil {
		f.members = make(map[string]*member)
	}
	f.members[name] = m
	f.names = append(f.names, name)
	if f.state == isRunning {
		f.startLocked(m)
	}
	return i, nil
}

func (f *Factory) startLocked(m *member) {
	ctx, cancel := context.WithCancel(f.ctx)
	m.cancel = cancel
	m.err = errGoexit // unless Run returns
	f.workers.Go(func() {
		defer close(m.done)
		defer cancel()
		m.err = m.informer.Run(ctx)
	})
}

// Run runs all informers, those that are added meanwhile too, until ctx is done; it returns
// when all of them have returned, with their errors joined. A factory runs once: a second call
// returns listwatch.ErrRunning or listwatch.ErrStopped.
func (f *Factory) Run(ctx context.Context) error {
	f.mu.Lock()
	if f.state != isNew {
		err := listwatch.ErrRunning
		if f.state == isStopped {
			err = listwatch.ErrStopped
		}
		f.mu.Unlock()
		return fmt.Errorf("factory: %w", err)
	}
	f.state, f.ctx = isRunning, ctx
	for _, name := range f.names {
		f.startLocked(f.members[name])
	}
	f.mu.Unlock()

	<-ctx.Done()
	f.mu.Lock()
	f.state = isStopped
	f.mu.Unlock()
	f.workers.Wait()

	f.mu.Lock()
	defer f.mu.Unlock()
	var errs []error
	for _, name := range f.names {
		errs = append(errs, f.members[name].err)
	}
	return errors.Join(errs...)
}

// WaitForSync waits until each informer that the factory has at the time of the call is
// synced. Its error names those that are not and says why, see [Informer.WaitForSync].
func (f *Factory) WaitForSync(ctx context.Context) error {
	f.mu.Lock()
	var all []*member
	for _, name := range f.names {
		all = append(all, f.members[name])
	}
	f.mu.Unlock()
	errs := make([]error, len(all))
	var waiting worker.Group
	for n, m := range all {
		waiting.Go(func() { errs[n] = m.informer.WaitForSync(ctx) })
	}
	waiting.Wait()
	return errors.Join(errs...)
}

// Stop forgets one informer, so that its name may be used again, ends it, and waits until its
// Run has returned. It returns what Run returned, and reports false when there is none of that
// name. It must not be called from a handler of that informer, which it would wait for.
func (f *Factory) Stop(name string) (stopped bool, err error) {
	f.mu.Lock()
	m, ok := f.members[name]
	if ok {
		delete(f.members, name)
		for n := range f.names {
			if f.names[n] == name {
				f.names = append(f.names[:n:n], f.names[n+1:]...)
				break
			}
		}
	}
	f.mu.Unlock()
	if !ok {
		return false, nil
	}
	if m.cancel == nil {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		return true, m.informer.Run(ctx)
	}
	m.cancel()
	<-m.done
	return true, m.err
}

// Health returns how each informer fares, in the order in which they were made.
func (f *Factory) Health() []Health {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []Health
	for _, name := range f.names {
		all = append(all, f.members[name].informer.Health())
	}
	return all
}

// Informers returns the informers, in the order in which they were made, to be looked at without
// their types.
func (f *Factory) Informers() []Inspected {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []Inspected
	for _, name := range f.names {
		all = append(all, f.members[name].informer)
	}
	return all
}
