package apiserver

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth"
)

// Limits are what clients may take of a [Server] before they are refused. The zero value has the defaults of the real one.
type Limits struct {
	// Mutating and ReadOnly are the numbers of requests, watches apart, that are answered at a time: those that
	// change something and the others. Members of system:masters are not bounded. Default to 200 and 400.
	Mutating, ReadOnly int
	// RequestTimeout is how long a request, but for a watch, may take until it is given up. A client may ask for less. Its
	// body must have come, and the answer have been taken, in as much real time. Defaults to 1 min.
	RequestTimeout time.Duration
	// HeaderBytes is the greatest size of a request's headers, about. Defaults to 1 MiB.
	HeaderBytes int
	// HeaderTimeout is how long the headers of a request may take. It is real time. Defaults to 32 s.
	HeaderTimeout time.Duration
	// IdleTimeout is how long a connection is kept without a request. It is real time. Defaults to 90 s.
	IdleTimeout time.Duration
	// Streams is the number of requests, watches among them, on one connection of HTTP/2. Defaults to 100.
	Streams int
	// PingIdle is how long a connection of HTTP/2 may be silent until the client is asked whether it is still there; after
	// as long without an answer the connection is closed, and with it its watches. It is real time. Defaults to 30 s.
	PingIdle time.Duration
}

// frameBytes is the size in bytes of an HTTP/2 frame, and of what a client may send ahead, that the real server takes.
const frameBytes = 256 << 10

func (l Limits) withDefaults() Limits {
	defaults := Limits{200, 400, time.Minute, http.DefaultMaxHeaderBytes, 32 * time.Second, 90 * time.Second, 100, 30 * time.Second}
	for _, n := range []struct{ field, otherwise *int }{
		{&l.Mutating, &defaults.Mutating}, {&l.ReadOnly, &defaults.ReadOnly}, {&l.HeaderBytes, &defaults.HeaderBytes}, {&l.Streams, &defaults.Streams},
	} {
		if *n.field == 0 {
			*n.field = *n.otherwise
		}
	}
	for _, d := range []struct{ field, otherwise *time.Duration }{
		{&l.RequestTimeout, &defaults.RequestTimeout}, {&l.HeaderTimeout, &defaults.HeaderTimeout}, {&l.IdleTimeout, &defaults.IdleTimeout},
		{&l.PingIdle, &defaults.PingIdle},
	} {
		if *d.field == 0 {
			*d.field = *d.otherwise
		}
	}
	return l
}

func (l Limits) validate() error {
	if min(l.Mutating, l.ReadOnly, l.HeaderBytes, l.Streams) < 0 || min(l.RequestTimeout, l.HeaderTimeout, l.IdleTimeout, l.PingIdle) < 0 {
		return errors.New("apiserver: Limits must not be negative")
	}
	return nil
}

// apply sets what net/http itself sees to.
func (l Limits) apply(to *http.Server) {
	to.MaxHeaderBytes, to.ReadHeaderTimeout, to.IdleTimeout = l.HeaderBytes, l.HeaderTimeout, l.IdleTimeout
	to.HTTP2 = &http.HTTP2Config{
		MaxConcurrentStreams: l.Streams, MaxReadFrameSize: frameBytes, MaxReceiveBufferPerStream: frameBytes,
		SendPingTimeout: l.PingIdle, PingTimeout: l.PingIdle,
	}
}

// Why a request is not answered now.
var (
	errTooMany  = errors.New("Too many requests, please try again later.")              //lint:ignore ST1005 the wording of a real server
	errStopping = errors.New("The apiserver is shutting down, please try again later.") //lint:ignore ST1005 the wording of a real server
)

// class is what requests are counted by.
type class int

const (
	readOnly class = iota
	mutating
	longRunning
	classes
)

// gate counts the requests that are being answered. The zero value is open.
type gate struct {
	mu sync.Mutex
	// The following are guarded by mu.
	inside [classes]int
	closed bool
	// empty is closed when the gate is closed and nobody is inside; nil until the gate is closed.
	empty chan struct{}
}

// enter lets a request in, which must leave then, or says why not. A limit of 0 is none.
func (g *gate) enter(c class, limit int) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.closed:
		return errStopping
	case limit > 0 && g.inside[c] >= limit:
		return errTooMany
	}
	g.inside[c]++
	return nil
}

func (g *gate) leave(c class) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside[c]--
	g.tellLocked()
}

// close lets nobody in any more. The channel is closed when nobody is left.
func (g *gate) close() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed, g.empty = true, make(chan struct{})
	g.tellLocked()
	return g.empty
}

func (g *gate) tellLocked() {
	if g.closed && g.inside == [classes]int{} {
		close(g.empty)
	}
}

// count returns how many are inside.
func (g *gate) count(c class) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.inside[c]
}

// classOf tells what a request is counted as.
func classOf(a auth.Attributes) class {
	switch {
	case a.Verb == "watch", connected(a):
		return longRunning
	}
	switch a.Verb {
	case "get", "list", "head", "options":
		return readOnly
	}
	return mutating
}

// enter lets a request in when there are not too many. leave must be called behind it.
func (s *Server) enter(r *http.Request) (leave func(), err error) {
	if isHealth(r.URL.Path) {
		return func() {}, nil // who asks whether the server is well must be told
	}
	a, l := attributesOf(r, auth.From(r.Context())), s.options.Limits
	c := classOf(a)
	limit := map[class]int{readOnly: l.ReadOnly, mutating: l.Mutating}[c]
	if slices.Contains(a.User.Groups, auth.Masters) {
		limit = 0
	}
	return func() { s.gate.leave(c) }, s.gate.enter(c, limit)
}

// isHealth reports whether a path is one of those that tell of the server's health.
func isHealth(path string) bool {
	endpoint, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return slices.Contains([]string{"healthz", "livez", "readyz"}, endpoint)
}

// inFlight returns how many requests are being answered, for metrics.
func (s *Server) inFlight() map[string]int {
	return map[string]int{"readOnly": s.gate.count(readOnly), "mutating": s.gate.count(mutating)}
}

// writeBusy answers a request that is not answered now, in the way that clients understand.
func writeBusy(w http.ResponseWriter, err error) {
	w.Header().Set("Retry-After", "1")
	if errors.Is(err, errStopping) {
		w.Header().Set("Retry-After", "5")
		w.Header().Set("Connection", "close")
	}
	writeText(w, http.StatusTooManyRequests, err.Error()+"\n")
}

// setDeadlines bounds how long the client may take to send the body and to take the answer. A watch extends the
// latter as it goes on.
func (s *Server) setDeadlines(w http.ResponseWriter, r *http.Request) {
	c, until := http.NewResponseController(w), time.Now().Add(s.options.Limits.RequestTimeout)
	// They fail where there is no connection, in tests.
	_ = c.SetWriteDeadline(until)
	if r.ContentLength != 0 {
		_ = c.SetReadDeadline(until)
	}
}
