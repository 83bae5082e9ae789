package controltest

import (
	"context"
	"io"
	"net/http"
	"sync"
)

// Late holds back what is read of one collection.
type Late struct {
	path string
	mu   sync.Mutex
	// hold is what was begun last. Guarded by mu.
	hold *hold
}

// hold is one time in which something is held back.
type hold struct {
	over sync.Once
	// open is closed at the end; lost, set before that, tells that what was read meanwhile never arrives.
	open chan struct{}
	lost bool
}

func (h *hold) end(lost bool) {
	h.over.Do(func() {
		h.lost = lost
		close(h.open)
	})
}

func newLate(path string) *Late {
	l := &Late{path: path}
	l.Hold()
	l.Release()
	return l
}

func (l *Late) last() *hold {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.hold
}

// Hold begins to hold back. What was read before is passed on.
func (l *Late) Hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hold = &hold{open: make(chan struct{})}
}

// Release lets through what was held back, and all that comes.
func (l *Late) Release() { l.last().end(false) }

// Lose drops what was held back and ends the watches and lists that it belongs to.
func (l *Late) Lose() { l.last().end(true) }

// wrap makes the answers that next gets wait.
func (l *Late) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if err == nil && r.Method == http.MethodGet && r.URL.Path == l.path {
			response.Body = lateBody{response.Body, r.Context(), l}
		}
		return response, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// lateBody is the body of a response, whose parts come late or never.
type lateBody struct {
	io.ReadCloser
	ctx  context.Context
	late *Late
}

func (b lateBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	h := b.late.last()
	select {
	case <-h.open:
		return n, err
	default:
	}
	select {
	case <-h.open:
		if h.lost {
			return 0, io.ErrUnexpectedEOF
		}
		return n, err
	case <-b.ctx.Done():
		return 0, context.Cause(b.ctx)
	}
}
