package informer

import "sync"

// faults keeps errors of index functions back while the informer holds its lock: whoever hears them
// may call the informer.
type faults struct {
	mu   sync.Mutex
	keep bool    // guarded by mu, as is all below
	kept []error // only while keep
}

// take reports whether the error is kept back.
func (f *faults) take(err error) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.keep {
		f.kept = append(f.kept, err)
	}
	return f.keep
}

func (f *faults) hold() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.keep = true
}

// release returns what was kept back.
func (f *faults) release() []error {
	f.mu.Lock()
	defer f.mu.Unlock()
	kept := f.kept
	f.keep, f.kept = false, nil
	return kept
}

// indexFault passes an error of an index function on, now or when the lock has been released.
func (i *Informer[T]) indexFault(err error) {
	switch {
	case i.faults.take(err):
	case i.options.IndexOnError != nil:
		i.options.tell(i.options.IndexOnError, err)
	default:
		i.options.report(err)
	}
}

func (i *Informer[T]) releaseFaults() {
	for _, err := range i.faults.release() {
		i.indexFault(err)
	}
}
