package apiserver

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/registry"
	"github.com/seed3bce33ad/listwatch/internal/timing"
)

// lastBookmark is how long before the planned end of a watch its last bookmark comes.
const lastBookmark = 2 * time.Second

// Why a watch ends well.
var (
	errPlannedEnd = errors.New("the watch has come to its planned end")
	errClosing    = errors.New("the server is being closed")
)

// watch answers a watch: it returns an error only as long as nothing has been sent.
func (s *Server) watch(w http.ResponseWriter, r *http.Request, t registry.Target, o metav1.ListOptions) error {
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	v, err := viewOf(r, streamsOf(t.Kind)...)
	if err != nil {
		return err
	}
	registered, err := s.registry.NewWatch(ctx, t, o)
	if err != nil {
		return err
	}
	stream := &stream{
		writer: w, control: http.NewResponseController(w), slow: s.options.SlowWatch, target: t, watch: registered,
		view: v, now: s.options.Clock.Now, sent: s.metrics.Events(t.Kind.Group, t.Kind.Resource),
	}
	defer s.metrics.Watching(s.named(r))()
	stopClosing := context.AfterFunc(s.closing, func() {
		if o.AllowWatchBookmarks {
			stream.last.Store(true)
			stream.makeBookmarkDue()
		} else {
			cancel(errClosing)
		}
	})
	defer stopClosing()
	stopEnding := context.AfterFunc(s.ending, func() { cancel(errClosing) })
	defer stopEnding()
	timeout := s.watchTimeout(o)
	if timeout <= 0 {
		cancel(errPlannedEnd)
	} else {
		stop := timing.AfterFunc(s.options.Clock, timeout, func() { cancel(errPlannedEnd) })
		defer stop()
	}
	if o.AllowWatchBookmarks {
		stop := s.bookmarks(ctx, stream, timeout)
		defer stop()
	}
	w.Header().Set("Content-Type", jsonType)
	if v.media == kinds.Protobuf {
		w.Header().Set("Content-Type", kinds.Protobuf+";stream=watch")
	}
	w.WriteHeader(http.StatusOK)
	err = stream.flush()
	if err == nil {
		err = registered.Run(ctx, stream.send)
	}
	cancel(err)
	s.endWatch(r.Context(), stream, err)
	return nil
}

// endWatch sends why the watch ended, when that is an answer of the API. A watch that failed in
// another way is cut off, so that it cannot be taken for one that ended well.
func (s *Server) endWatch(ctx context.Context, stream *stream, err error) {
	var known apierrors.APIStatus
	switch {
	case errors.As(err, &known):
		err = stream.sendStatus(statusOf(err))
	case errors.Is(err, errPlannedEnd), errors.Is(err, errClosing), errors.Is(err, registry.ErrEnded):
		err = nil
	}
	if err == nil {
		err = stream.extend()
	}
	if err != nil {
		// A failed write ends the request's context, as a client that has gone does.
		if ctx.Err() == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			s.options.Logger.Warn("watch cut off", "kind", stream.target.Kind.Kind, "error", err)
		}
		panic(http.ErrAbortHandler)
	}
}

// watchTimeout is how long a watch lives. Clients that don't say are spread over time.
func (s *Server) watchTimeout(o metav1.ListOptions) time.Duration {
	if o.TimeoutSeconds != nil && *o.TimeoutSeconds != 0 {
		return time.Duration(*o.TimeoutSeconds) * time.Second
	}
	return s.options.WatchTimeout + rand.N(s.options.WatchTimeout)
}

// bookmarks makes bookmarks due every so often, and once before the planned end.
func (s *Server) bookmarks(ctx context.Context, stream *stream, timeout time.Duration) (stop func()) {
	stopLast := func() {}
	if timeout > lastBookmark {
		stopLast = timing.AfterFunc(s.options.Clock, timeout-lastBookmark, func() { stream.makeBookmarkDue() })
	}
	var stopNext atomic.Pointer[func()]
	var arm func()
	arm = func() {
		stop := timing.AfterFunc(s.options.Clock, s.options.BookmarkEvery, func() {
			if ctx.Err() == nil {
				stream.makeBookmarkDue()
				arm()
			}
		})
		stopNext.Store(&stop)
	}
	arm()
	return func() {
		stopLast()
		(*stopNext.Load())()
	}
}

// frames are buffers for what is sent at once, of about frameSize at most.
var frames = sync.Pool{New: func() any { b := make([]byte, 0, 2*frameSize); return &b }}

const frameSize = 64 << 10

// stream is the body of a watch's answer. It is written by one goroutine.
type stream struct {
	writer  http.ResponseWriter
	control *http.ResponseController
	slow    time.Duration
	target  registry.Target
	watch   *registry.Watch
	view    view
	now     func() time.Time
	// named is set once the columns of a table have been named.
	named bool
	// due is set when a bookmark is to follow the next batch.
	due atomic.Bool
	// last is set when the stream is to end with that bookmark.
	last atomic.Bool
	// sent counts the events.
	sent func(int)
}

// makeBookmarkDue has a bookmark sent as soon as the position is known.
func (s *stream) makeBookmarkDue() {
	s.due.Store(true)
	s.watch.RequestProgress()
}

func (s *stream) send(b registry.Batch) error {
	events := b.Events
	ending := false
	if b.Version != "" && s.due.Swap(false) {
		ending = s.last.Load()
		events = append(events[:len(events):len(events)], s.watch.Bookmark(b.Version))
	}
	if len(events) == 0 {
		return nil
	}
	buffer := frames.Get().(*[]byte)
	out := (*buffer)[:0]
	defer func() {
		if cap(out) <= 4*frameSize {
			*buffer = out
			frames.Put(buffer)
		}
	}()
	for _, event := range events {
		var err error
		if out, err = s.append(out, event); err != nil {
			return err
		}
		if len(out) >= frameSize {
			if err := s.write(out); err != nil {
				return err
			}
			out = out[:0]
		}
	}
	if err := s.write(out); err != nil {
		return err
	}
	s.sent(len(events))
	if err := s.flush(); err != nil || !ending {
		return err
	}
	return errClosing
}

func (s *stream) write(data []byte) error {
	if err := s.extend(); err != nil {
		return err
	}
	_, err := s.writer.Write(data)
	return err
}

// flush sends what has been written. No deadline stands behind it: with HTTP/2 a watch in which nothing happens would be
// cut off by it.
func (s *stream) flush() error {
	if err := s.extend(); err != nil {
		return err
	}
	if err := s.control.Flush(); err != nil {
		return err
	}
	return s.control.SetWriteDeadline(time.Time{})
}

// extend gives the client new time to accept what is sent. The deadline is one of the
// operating system's, so it is in real time.
func (s *stream) extend() error { return s.control.SetWriteDeadline(time.Now().Add(s.slow)) }
