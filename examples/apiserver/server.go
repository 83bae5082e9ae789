package apiserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/admission"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/etcd"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/metrics"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/registry"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/storage"
	"github.com/seed3bce33ad/listwatch/internal/timing"
)

// Server is a running API server. All methods are safe for concurrent use. The zero value does
// not work: see [Start].
type Server struct {
	options  Options
	etcd     *etcd.Etcd // nil when it is the caller's
	store    *storage.Store
	registry *registry.Registry
	http     *http.Server
	url      string
	metrics  *metrics.Metrics
	gate     gate
	// stopping is set once Close has been called. closing is done when watches are to end, ending when they must.
	stopping        atomic.Bool
	closing, ending context.Context
	cancel, end     context.CancelFunc
	running         sync.WaitGroup
	close           func() error
	access          access
	// authorizer is nil when everything is allowed, authority when no roles are kept.
	authorizer auth.Authorizer
	authority  *authority
	rules      admission.Rules
	// virtuals are what is created and not stored, by virtualName.
	virtuals map[string]virtual
	// table is what is served now.
	table atomic.Pointer[table]
	// builtin describes in OpenAPI the kinds that are always served.
	builtin func() (map[string]described, error)

	mu sync.Mutex
	// connections are guarded by mu.
	connections map[net.Conn]struct{}
}

// Start starts a server and returns when it answers requests. It runs until Close is called;
// ctx is only for the start.
func Start(ctx context.Context, o Options) (*Server, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	s := &Server{options: o, connections: make(map[net.Conn]struct{})}
	s.metrics = metrics.New(metrics.Options{InFlight: s.inFlight, Caches: s.caches})
	s.close = sync.OnceValue(s.shutdown)
	s.virtuals = s.virtualTable()
	s.builtin = sync.OnceValues(func() (map[string]described, error) { return describe(o.Kinds, o.Kinds.GroupVersions()) })
	s.publish(nil)
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("apiserver: start: %w", err), s.Close())
	}
	return s, nil
}

func (s *Server) start(ctx context.Context) error {
	if s.options.Secure == nil {
		if err := checkPlain(s.options.Address); err != nil {
			return err
		}
	}
	if err := s.open(ctx); err != nil {
		return err
	}
	// The context outlives ctx, which is only for the start.
	s.closing, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	s.ending, s.end = context.WithCancel(context.WithoutCancel(ctx))
	s.http = &http.Server{
		Handler: s, ConnState: s.track,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connectionKey{}, c)
		},
		ErrorLog: slog.NewLogLogger(s.options.Logger.Handler(), slog.LevelInfo),
	}
	s.options.Limits.apply(s.http)
	if err := s.serveDefined(ctx); err != nil {
		return err
	}
	if err := s.listen(); err != nil {
		return err
	}
	if s.options.CompactEvery > 0 {
		s.running.Go(func() { s.compactForever(s.closing) })
	}
	return nil
}

// open opens the store and puts into it what must be there.
func (s *Server) open(ctx context.Context) error {
	client := s.options.Etcd
	if client == nil {
		var err error
		if s.etcd, err = etcd.Start(ctx, etcd.Options{Dir: s.options.Dir}); err != nil {
			return err
		}
		client = s.etcd.Client()
	}
	if s.options.Storage.Observe == nil {
		s.options.Storage.Observe = s.metrics.Etcd
	}
	var err error
	if s.store, err = storage.New(client, s.options.Storage); err != nil {
		return err
	}
	s.rules = admission.Rules{ServiceAccounts: s.options.ServiceAccounts}
	s.registry = registry.New(s.store, registry.Options{
		FutureWait: s.options.FutureWait, Clock: s.options.Clock, Cache: s.options.Cache,
		Admit: s.admit, Reserve: s.rules.Reserve, ServiceIPs: s.options.ServiceIPs,
	})
	if err := s.openAccess(); err != nil {
		return err
	}
	if err := s.ensureNamespaces(ctx); err != nil {
		return err
	}
	return s.startAuthority(ctx)
}

// listen begins to answer requests.
func (s *Server) listen() error {
	listener, err := net.Listen("tcp", s.options.Address)
	if err != nil {
		return err
	}
	config, err := s.address(listener)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	s.http.TLSConfig = config
	serve := s.http.Serve
	if config != nil {
		serve = func(l net.Listener) error { return s.http.ServeTLS(l, "", "") }
	}
	s.running.Go(func() {
		if err := serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.options.Logger.Error("serving ended", "error", err)
		}
	})
	return nil
}

// ensureNamespaces creates what the options name and is not there.
func (s *Server) ensureNamespaces(ctx context.Context) error {
	for _, name := range s.options.Namespaces {
		if err := s.registry.Ensure(ctx, registry.Target{Kind: kinds.Namespaces(), Name: name}); err != nil {
			return err
		}
		if !s.options.ServiceAccounts {
			continue
		}
		account := registry.Target{Kind: kinds.ServiceAccounts(), Namespace: name, Name: "default"}
		if err := s.registry.Ensure(ctx, account); err != nil {
			return err
		}
	}
	return nil
}

// URL returns the address of the server, such as "http://127.0.0.1:40123" or, when it is secure, "https://127.0.0.1:40123".
func (s *Server) URL() string { return s.url }

// Close has the server say that it is not ready, goes on for Options.ShutdownDelay, then takes no more requests, ends all
// watches cleanly, waits some seconds for other requests, and stops the server and its etcd. It blocks until
// everything has stopped. A second Close does nothing and returns the same.
func (s *Server) Close() error { return s.close() }

func (s *Server) shutdown() error {
	var errs []error
	if s.cancel != nil {
		errs = append(errs, s.drain())
		s.running.Wait()
	}
	if s.authority != nil {
		s.authority.close()
	}
	if s.registry != nil {
		s.registry.Close()
	}
	if s.etcd != nil {
		errs = append(errs, s.etcd.Close())
	}
	if s.access.temporary != "" {
		errs = append(errs, os.RemoveAll(s.access.temporary))
	}
	return errors.Join(errs...)
}

// Compact drops the whole history: from then on every older version is expired (410). Running
// watches that have kept up are not disturbed.
func (s *Server) Compact(ctx context.Context) error {
	revision, err := s.store.Revision(ctx)
	if err != nil {
		return err
	}
	if err := s.registry.Advance(ctx, revision); err != nil {
		return err
	}
	s.registry.Forget(revision)
	return s.store.Compact(ctx, revision)
}

// CutConnections closes all connections at once, as a crash or a broken network would: in the
// middle of whatever is being sent. New connections are accepted as before.
func (s *Server) CutConnections() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.connections {
		if secure, ok := c.(*tls.Conn); ok {
			c = secure.NetConn() // without the farewell of TLS
		}
		// Nobody can do anything about a connection that cannot even be closed.
		_ = c.Close()
	}
}

func (s *Server) track(c net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch state {
	case http.StateNew:
		s.connections[c] = struct{}{}
	case http.StateClosed: // one that was taken over is forgotten when what it was taken over for has ended
		delete(s.connections, c)
	}
}

type connectionKey struct{}

// forget forgets the connection of a request that was taken over.
func (s *Server) forget(ctx context.Context) {
	if c, ok := ctx.Value(connectionKey{}).(net.Conn); ok {
		s.track(c, http.StateClosed)
	}
}

// compactForever keeps between one and two periods of history.
func (s *Server) compactForever(ctx context.Context) {
	var last int64
	for timing.Sleep(ctx, s.options.Clock, s.options.CompactEvery) == nil {
		revision, err := s.store.Revision(ctx)
		if err == nil && last > 0 {
			if err = s.registry.Advance(ctx, last); err == nil {
				err = s.store.Compact(ctx, last)
			}
		}
		if err != nil {
			s.options.Logger.Error("compaction failed", "error", err)
			continue
		}
		last = revision
	}
}
