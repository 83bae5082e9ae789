package wire

import (
	"bufio"
	"errors"
	"net/http"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/internal/timing"
)

// bufferBytes is how much of a list is sent at once.
const bufferBytes = 4 << 10

// errBroken ends an answer whose connection is to break.
var errBroken = errors.New("the answer is broken off")

// answer is what is sent for one request, with what goes wrong with it. One goroutine uses it.
type answer struct {
	w       http.ResponseWriter
	r       *http.Request
	out     *bufio.Writer // of body
	clock   clock.Clock
	partial bool // metadata alone

	begun  bool // the status was sent
	broken bool // the connection is to break
	spoil  fakes.Fault
	left   int // bytes until spoil, when there is one
	late   time.Duration
	hold   bool // the headers wait for the body
	dirty  bool // something was written and not flushed
}

func (s *Server[T]) answer(w http.ResponseWriter, r *http.Request, watch bool) *answer {
	v := fakes.VerbList
	if watch {
		v = fakes.VerbWatch
	}
	a := &answer{w: w, r: r, clock: s.o.Clock}
	a.out = bufio.NewWriterSize(body{a}, bufferBytes)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-cache, private")
	if _, ok := s.take(v, fakes.FaultGoAway); ok {
		w.Header().Set("Connection", "close")
	}
	if f, ok := s.take(v, fakes.FaultLateHeaders); ok {
		a.late, a.hold = f.For, f.For == 0
	}
	if f, ok := s.take(v, fakes.FaultCutBytes, fakes.FaultGarbageBytes); ok {
		a.spoil, a.left = f, f.N
	}
	return a
}

// begin sends the status 200, late if that was ordered.
func (a *answer) begin() {
	if a.begun {
		return
	}
	a.begun = true
	if a.hold {
		return
	}
	if timing.Sleep(a.r.Context(), a.clock, a.late) == nil {
		a.w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(a.w).Flush()
	}
}

// flush sends what was written.
func (a *answer) flush() error {
	if err := a.out.Flush(); err != nil || !a.dirty {
		return err
	}
	a.dirty = false
	return http.NewResponseController(a.w).Flush()
}

// finish sends the rest, and breaks the connection if that is to happen.
func (a *answer) finish() {
	err := a.out.Flush()
	if a.spoil.Kind != 0 { // the body was too short for it
		err = a.bodySpoiled()
	}
	if a.broken || err != nil {
		if a.begun {
			_ = http.NewResponseController(a.w).Flush()
		} else {
			a.tear()
		}
		panic(http.ErrAbortHandler)
	}
}

// tear breaks a connection of HTTP/1.1 behind the first byte of the answer: before it, net/http
// would repeat the request on another connection, and the caller would see nothing.
func (a *answer) tear() {
	conn, _, err := http.NewResponseController(a.w).Hijack()
	if err != nil {
		return // a stream of HTTP/2, whose reset is seen
	}
	_, _ = conn.Write([]byte("H"))
	_ = conn.Close()
}

// bodySpoiled does what was ordered for this place of the body.
func (a *answer) bodySpoiled() error {
	kind := a.spoil.Kind
	a.spoil = fakes.Fault{}
	if kind == fakes.FaultCutBytes {
		a.broken = true
		return errBroken
	}
	_, err := a.w.Write([]byte("\x00}]\xff{garbage"))
	return err
}

// body is where the bytes of a body pass.
type body struct{ a *answer }

func (b body) Write(p []byte) (n int, err error) {
	a := b.a
	a.begin()
	a.dirty = true
	if a.spoil.Kind != 0 && len(p) >= a.left {
		if n, err = a.w.Write(p[:a.left]); err != nil {
			return n, err
		}
		if err = a.bodySpoiled(); err != nil {
			return n, err
		}
		p = p[n:]
	}
	a.left -= len(p)
	m, err := a.w.Write(p)
	return n + m, err
}
