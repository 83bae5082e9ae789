package wire

import (
	"io"
	"log"
	"net"
	"net/http"
	"sync"

	"github.com/seed3bce33ad/listwatch/internal/worker"
)

// Host serves a handler at an endpoint. Close it. It is safe for concurrent use. The zero value is
// not usable, use [Serve].
type Host struct {
	handler http.Handler
	server  http.Server
	group   worker.Group
	conns   sync.WaitGroup

	mu       sync.Mutex
	closed   bool           // guarded by mu
	requests sync.WaitGroup // mu is held for Add
}

// Serve answers requests at an endpoint by h, over HTTP/1.1 and over HTTP/2 without encryption,
// as the client wants it, until it is closed. It returns at once.
func Serve(e *Endpoint, h http.Handler) *Host {
	s := &Host{handler: h}
	s.server = http.Server{
		Handler: http.HandlerFunc(s.serve), Protocols: new(http.Protocols), ErrorLog: log.New(io.Discard, "", 0),
	}
	s.server.Protocols.SetHTTP1(true)
	s.server.Protocols.SetUnencryptedHTTP2(true)
	s.server.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			s.conns.Add(1)
		case http.StateClosed, http.StateHijacked:
			s.conns.Done()
		}
	}
	s.group.Go(func() { _ = s.server.Serve(e) })
	return s
}

// serve answers one request. Of HTTP/2, requests have goroutines that outlive the connection.
func (s *Host) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		panic(http.ErrAbortHandler)
	}
	s.requests.Add(1)
	s.mu.Unlock()
	defer s.requests.Done()
	s.handler.ServeHTTP(w, r)
}

// Close closes the endpoint and all connections, and waits until their requests have ended.
func (s *Host) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	_ = s.server.Close()
	s.group.Wait()
	s.conns.Wait()
	s.requests.Wait()
}
