package apiserver

import (
	"bufio"
	"context"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/metrics"
)

// clientGone is the code that metrics and logs have for a request whose client has gone before it was answered.
const clientGone = 499

// panicBody is what the client of a request that has panicked is told.
const panicBody = "This request caused apiserver to panic. Look in the logs for details.\n"

// served is one request, for those who look on.
type served struct {
	http.ResponseWriter
	// code is 0 until the headers have been sent.
	code int
	// user is who sent it, when that is known.
	user string
}

// WriteHeader sends the headers.
func (s *served) WriteHeader(code int) {
	if s.code == 0 && code >= http.StatusOK {
		s.code = code
	}
	s.ResponseWriter.WriteHeader(code)
}

// Write sends a part of the body.
func (s *served) Write(data []byte) (int, error) {
	if s.code == 0 {
		s.code = http.StatusOK
	}
	return s.ResponseWriter.Write(data)
}

// Hijack is for [http.ResponseController]: the connection becomes another protocol's.
func (s *served) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(s.ResponseWriter).Hijack()
	if err == nil && s.code == 0 {
		s.code = http.StatusSwitchingProtocols
	}
	return conn, buffered, err
}

// Unwrap is for [http.ResponseController].
func (s *served) Unwrap() http.ResponseWriter { return s.ResponseWriter }

type servedKey struct{}

// bodyRead says that the body of a request has come, so that no deadline for it stands any more.
func bodyRead(ctx context.Context) {
	if s, ok := ctx.Value(servedKey{}).(*served); ok {
		// It fails where there is no connection, in tests.
		_ = http.NewResponseController(s.ResponseWriter).SetReadDeadline(time.Time{})
	}
}

// noteUser notes who sends a request, once that is known.
func noteUser(ctx context.Context) {
	if s, ok := ctx.Value(servedKey{}).(*served); ok {
		if u := auth.From(ctx); u != nil {
			s.user = u.Name
		}
	}
}

// ServeHTTP answers one request, and has it counted and logged.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	request := &served{ResponseWriter: w}
	began := s.options.Clock.Now()
	audit := r.Header.Get("Audit-ID")
	if audit == "" {
		audit = string(uuid.NewUUID())
	}
	w.Header().Set("Audit-Id", audit)
	w.Header().Set("Cache-Control", "no-cache, private")
	s.setDeadlines(w, r)
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	r = r.WithContext(context.WithValue(r.Context(), servedKey{}, request))
	defer func() {
		p := recover()
		if p != nil && p != http.ErrAbortHandler {
			s.options.Logger.Error("request panicked", "method", r.Method, "path", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
			if request.code == 0 {
				p = nil
				writeText(request, http.StatusInternalServerError, panicBody)
			}
		}
		s.tell(request, r, s.options.Clock.Since(began))
		if p != nil {
			panic(http.ErrAbortHandler) // so that nobody takes for whole what was begun
		}
	}()
	s.handle(request, r)
}

// tell has a request counted and logged.
func (s *Server) tell(request *served, r *http.Request, took time.Duration) {
	if request.code == 0 {
		request.code = clientGone
	}
	s.metrics.Request(s.named(r), request.code, took)
	level := slog.LevelDebug
	if request.code >= http.StatusInternalServerError {
		level = slog.LevelError
	}
	// The query is left out: it may hold what nobody should read.
	s.options.Logger.Log(r.Context(), level, "request", "method", r.Method, "path", r.URL.Path, "code", request.code,
		"duration", took, "user", request.user, "audit", request.Header().Get("Audit-Id"))
}

// verbs are those of the API as metrics have them.
var verbs = map[string]string{
	"get": "GET", "list": "LIST", "watch": "WATCH", "create": "POST", "update": "PUT", "patch": "PATCH", "delete": "DELETE",
	"deletecollection": "DELETECOLLECTION", "head": "HEAD", "options": "OPTIONS", "post": "POST", "put": "PUT",
}

// paths are what requests for no resource are counted by.
var paths = []string{"api", "apis", "healthz", "livez", "metrics", "openapi", "readyz", "version"}

// named returns what a request is counted by. Whatever a client sends, there are few of them.
func (s *Server) named(r *http.Request) metrics.Labels {
	a := attributesOf(r, trusted)
	l := metrics.Labels{Verb: verbs[a.Verb]}
	if l.Verb == "" {
		l.Verb = metrics.Other
	}
	if a.Resource == "" {
		l.Subresource = metrics.Other
		first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		for _, known := range paths {
			if first == known {
				l.Subresource = "/" + known
			}
		}
		return l
	}
	k, ok := s.kinds().Find(a.Group, a.Version, a.Resource)
	if !ok || a.Subresource != "" && !hasSubresource(k, a.Subresource) {
		l.Resource = metrics.Other
		return l
	}
	l.Group, l.Resource, l.Subresource = a.Group, a.Resource, a.Subresource
	if connected(a) {
		l.Verb = metrics.Connect
	}
	return l
}

// caches returns the state of the caches, for metrics.
func (s *Server) caches() []metrics.Cache {
	if s.registry == nil {
		return nil
	}
	var all []metrics.Cache
	for resource, size := range s.registry.Sizes() {
		all = append(all, metrics.Cache{Resource: resource, Objects: size.Objects, Events: size.Events})
	}
	return all
}
