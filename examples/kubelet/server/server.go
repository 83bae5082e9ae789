package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth"
	"github.com/seed3bce33ad/listwatch/examples/kubelet"
	"github.com/seed3bce33ad/listwatch/internal/timing"
)

// headerWait is how long the headers of a request may take.
const headerWait = 10 * time.Second

// Options say whose server it is.
type Options struct {
	// Host is the kubelet that it answers for.
	Host kubelet.Host
	// Listener is where it listens; the server closes it. Defaults to one on a free port of 127.0.0.1.
	Listener net.Listener
	// TLS is what [LoadTLS] returns. Nil: plain HTTP, for everybody, on a loopback address alone.
	TLS *tls.Config
	// Clock is the time. Defaults to the real one.
	Clock clock.Clock
	// Logger hears of what is asked for, and of failures. Defaults to nobody.
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.Clock = timing.Or(o.Clock)
	return o
}

func (o Options) validate() error {
	if o.Host == nil {
		return errors.New("server: Host must be given")
	}
	if at, ok := o.Listener.Addr().(*net.TCPAddr); o.TLS == nil && (!ok || !at.IP.IsLoopback()) {
		return fmt.Errorf("server: plain HTTP is for loopback addresses only, and %v is none", o.Listener.Addr())
	}
	return nil
}

// Server is the server of a kubelet. Make one with [Start].
type Server struct {
	options Options
	http    *http.Server
	at      net.Addr
	// ctx is done when the server is closed.
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup
	close   func() error
	// connections are all that are open.
	connections connections
}

// Run answers requests until ctx is done, and returns when nothing of the server runs any more.
func Run(ctx context.Context, o Options) error {
	s, err := Start(o)
	if err != nil {
		return err
	}
	<-ctx.Done()
	return s.Close()
}

// Start begins to answer requests. The server runs until Close is called.
func Start(o Options) (*Server, error) {
	o = o.withDefaults()
	if o.Listener == nil {
		var err error
		if o.Listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return nil, fmt.Errorf("server: %w", err)
		}
	}
	if err := o.validate(); err != nil {
		return nil, errors.Join(err, o.Listener.Close())
	}
	s := &Server{options: o, at: o.Listener.Addr()}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.close = sync.OnceValue(s.shutdown)
	s.http = &http.Server{
		Handler: s.handler(), ReadHeaderTimeout: headerWait, TLSConfig: o.TLS,
		BaseContext: func(net.Listener) context.Context { return s.ctx }, ConnContext: connContext,
		ErrorLog: slog.NewLogLogger(o.Logger.Handler(), slog.LevelInfo), Protocols: new(http.Protocols),
	}
	s.http.Protocols.SetHTTP1(true) // one of HTTP/2 cannot be upgraded
	listener := s.connections.listen(s.ctx, o.Listener)
	serve := s.http.Serve
	if o.TLS != nil {
		serve = func(l net.Listener) error { return s.http.ServeTLS(l, "", "") }
	}
	s.running.Go(func() {
		if err := serve(listener); !errors.Is(err, http.ErrServerClosed) {
			o.Logger.Error("serving ended", "error", err)
		}
	})
	return s, nil
}

// LoadTLS reads what a server needs to speak TLS: the file certificate with a certificate and its key, and the file
// authority with the certificate that those of clients must be signed by.
func LoadTLS(certificate, authority string) (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(certificate, certificate)
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	data, err := os.ReadFile(authority)
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(data) {
		return nil, fmt.Errorf("server: there is no certificate in %s", authority)
	}
	return &tls.Config{
		Certificates: []tls.Certificate{pair}, ClientCAs: roots, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12,
	}, nil
}

// URL returns the address of the server.
func (s *Server) URL() string {
	if s.options.TLS == nil {
		return "http://" + s.at.String()
	}
	return "https://" + s.at.String()
}

// Close ends all that is going on, commands in containers too, and returns when nothing of the server runs, but for what
// the library of SPDY may have wait for a second on a connection that was broken. A second Close does nothing and returns
// the same.
func (s *Server) Close() error { return s.close() }

func (s *Server) shutdown() error {
	s.cancel()
	err := s.http.Close()
	s.connections.close()
	s.running.Wait()
	return err
}

// handler answers requests.
func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok")) })
	mux.HandleFunc("GET /pods", s.pods)
	mux.HandleFunc("GET /stats/summary", s.summary)
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", s.logs)
	for _, method := range []string{"GET ", "POST "} { // WebSocket begins with the one, SPDY with the other
		mux.HandleFunc(method+"/exec/{namespace}/{pod}/{container}", s.exec)
		mux.HandleFunc(method+"/portForward/{namespace}/{pod}", s.portForward)
		mux.HandleFunc(method+"/attach/{namespace}/{pod}/{container}", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "nobody can attach to the containers of this node", http.StatusBadRequest)
		})
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.running.Add(1) // it is counted while the server is, and so before anybody waits for none
		defer s.running.Done()
		if r.TLS != nil && r.TLS.PeerCertificates[0].Subject.CommonName != auth.KubeletClient {
			s.options.Logger.Info("request refused", "path", r.URL.Path, "client", r.RemoteAddr)
			http.Error(w, "Forbidden", http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})
}
