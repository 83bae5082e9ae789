package server

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"

	"github.com/seed3bce33ad/listwatch/examples/watchbench/meter"
)

// seed is that of all collections.
const seed = 20260301

// Server serves sessions over HTTP/1.1 in clear text and over HTTP/2 with TLS. Make it with Start.
type Server struct {
	// Address says how to reach it.
	Address Address

	servers []*http.Server
	serving sync.WaitGroup

	mu       sync.Mutex
	data     map[int][2]*encoded
	sessions map[string]*session
}

// Address is how to reach a server.
type Address struct {
	// HTTP and HTTPS are its two addresses.
	HTTP, HTTPS string
	// CA is the certificate of HTTPS, in PEM.
	CA string
}

// Start returns a server that listens on the loopback interface.
func Start() (*Server, error) {
	s := &Server{data: make(map[int][2]*encoded), sessions: make(map[string]*session)}
	certificate, pem, err := selfSigned()
	if err != nil {
		return nil, err
	}
	s.Address.CA = string(pem)
	for _, form := range []struct {
		scheme string
		to     *string
	}{{"http", &s.Address.HTTP}, {"https", &s.Address.HTTPS}} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		*form.to = form.scheme + "://" + listener.Addr().String()
		h := &http.Server{Handler: s.handler(), TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}}}
		serve := func() error { return h.Serve(listener) }
		if form.scheme == "https" {
			serve = func() error { return h.ServeTLS(listener, "", "") }
		}
		s.servers = append(s.servers, h)
		s.serving.Go(func() { _ = serve() })
	}
	return s, nil
}

// Close ends all answers, and waits for the listeners.
func (s *Server) Close() error {
	var faults []error
	for _, h := range s.servers {
		faults = append(faults, h.Close())
	}
	s.serving.Wait()
	return errors.Join(faults...)
}

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /session", s.open)
	mux.HandleFunc("DELETE /s/{id}", s.remove)
	mux.HandleFunc("POST /s/{id}/do", s.command)
	mux.HandleFunc("GET /s/{id}/api/v1/pods", func(w http.ResponseWriter, r *http.Request) {
		if t := s.session(w, r); t != nil {
			t.answer(w, r)
		}
	})
	mux.HandleFunc("GET /usage", func(w http.ResponseWriter, _ *http.Request) {
		cpu, err := meter.CPU()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_ = json.NewEncoder(w).Encode(cpu.Seconds())
	})
	return mux
}

// open answers with the name of a new session, once its pods are encoded.
func (s *Server) open(w http.ResponseWriter, r *http.Request) {
	t := &session{commands: make(chan Command, 16)}
	t.version.Store(ListVersion)
	err := json.NewDecoder(r.Body).Decode(&t.spec)
	if err == nil {
		t.data, err = s.encoded(t.spec.Objects)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	id := strconv.Itoa(len(s.sessions))
	s.sessions[id] = t
	fmt.Fprint(w, id)
}

// encoded returns n pods. It keeps the last collection alone, as they are large.
func (s *Server) encoded(n int) ([2]*encoded, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.data[n]; !ok {
		clear(s.data)
		data, err := encode(seed, n)
		if err != nil {
			return data, err
		}
		s.data[n] = data
	}
	return s.data[n], nil
}

func (s *Server) session(w http.ResponseWriter, r *http.Request) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.sessions[r.PathValue("id")]
	if t == nil {
		http.Error(w, "no such session", http.StatusNotFound)
	}
	return t
}

// remove lets go of the session's pods; its name is not given again.
func (s *Server) remove(_ http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions[r.PathValue("id")] = nil
}

func (s *Server) command(w http.ResponseWriter, r *http.Request) {
	t := s.session(w, r)
	if t == nil {
		return
	}
	var c Command
	if err := json.NewDecoder(r.Body).Decode(&c); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	select {
	case t.commands <- c:
	case <-r.Context().Done():
	}
}
