package overhttp

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/seed3bce33ad/listwatch"
)

// handler is what an informer of either side tells. It counts, and says when enough has come.
type handler struct {
	adds, updates, deletes atomic.Int64

	synced goal

	mu   sync.Mutex
	want goal // of updates
	each func(listwatch.Object)
}

// goal is a number to be reached.
type goal struct {
	n    int64
	done chan struct{}
}

func newHandler(objects int) *handler {
	return &handler{synced: goal{int64(objects), make(chan struct{})}}
}

// expect returns a channel that is closed after n more updates. Each is told to each, which may be
// nil. Nothing may be expected before.
func (h *handler) expect(n int, each func(listwatch.Object)) <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.want, h.each = goal{h.updates.Load() + int64(n), make(chan struct{})}, each
	return h.want.done
}

func (h *handler) added() {
	if h.adds.Add(1) == h.synced.n {
		close(h.synced.done)
	}
}

func (h *handler) updated(o listwatch.Object) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.each != nil {
		h.each(o)
	}
	if h.updates.Add(1) == h.want.n {
		close(h.want.done)
	}
}

func (h *handler) deleted() { h.deletes.Add(1) }

// await blocks until done is closed.
func (h *handler) await(ctx context.Context, what string, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s: %d added, %d updated, %d deleted: %w", what, h.adds.Load(), h.updates.Load(), h.deletes.Load(), context.Cause(ctx))
	}
}
