package informer

import "sync"

// faults passes errors on, but keeps them back while the informer holds its lock: whoever hears
// them may call the informer.
type faults struct {
	report func(error)

	mu   sync.Mutex
	keep bool    // guarded by mu, as is all below
	kept []error // only while keep
}

func (f *faults) tell(err error) {
	f.mu.Lock()
	if f.keep {
		f.kept = append(f.kept, err)
		f.mu.Unlock()
		return
	}
	f.mu.Unlock()
	f.report(err)
}

func (f *faults) hold() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.keep = true
}

func (f *faults) release() {
	f.mu.Lock()
	kept := f.kept
	f.keep, f.kept = false, nil
	f.mu.Unlock()
	for _, err := range kept {
		f.report(err)
	}
}
