package pair

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/e2e/churn"
)

// fences notes which fences a handler has been told of. The zero value is ready.
type fences struct {
	mu      sync.Mutex
	seen    map[listwatch.Key]int64 // guarded by mu
	changed chan struct{}           // guarded by mu; closed at the next change; nil: nobody waits
}

// note is called with every object that a handler is told of.
func (f *fences) note(key listwatch.Key, annotations map[string]string) {
	if key.Name != churn.FenceName {
		return
	}
	n, err := strconv.ParseInt(annotations[churn.FenceAnnotation], 10, 64)
	if err != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.seen == nil {
		f.seen = map[listwatch.Key]int64{}
	}
	f.seen[key] = n
	if f.changed != nil {
		close(f.changed)
		f.changed = nil
	}
}

// wait blocks until all keys stand at n.
func (f *fences) wait(ctx context.Context, n int64, keys []listwatch.Key) error {
	for {
		f.mu.Lock()
		missing := ""
		for _, key := range keys {
			if f.seen[key] != n {
				missing = fmt.Sprintf("%s is at %d, not at %d", key, f.seen[key], n)
			}
		}
		if f.changed == nil {
			f.changed = make(chan struct{})
		}
		changed := f.changed
		f.mu.Unlock()
		if missing == "" {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", missing, context.Cause(ctx))
		}
	}
}
