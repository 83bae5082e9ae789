package apiserver

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/registry"
	"github.com/seed3bce33ad/listwatch/internal/timing"
)

// maxBody is the size in bytes that the API accepts.
const maxBody = 3 << 20

// handle answers one request.
func (s *Server) handle(w http.ResponseWriter, r *http.Request) {
	r, err := s.admitted(r)
	noteUser(r.Context())
	if err != nil {
		if statusOf(err).Code == http.StatusForbidden {
			w.Header().Set("X-Content-Type-Options", "nosniff")
		}
		s.writeError(w, r, err)
		return
	}
	leave, err := s.enter(r)
	if err != nil {
		writeBusy(w, err)
		return
	}
	defer leave()
	if s.serveText(w, r) {
		return
	}
	if err := s.serve(w, r); err != nil {
		s.writeError(w, r, err)
	}
}

// serveText answers what is no API object.
func (s *Server) serveText(w http.ResponseWriter, r *http.Request) bool {
	switch r.URL.Path {
	case "/version":
		w.Header().Set("Content-Type", jsonType)
		writeBody(w, http.StatusOK, []byte(versionBody))
		return true
	case "/metrics":
		s.metrics.Handler().ServeHTTP(w, r)
		return true
	}
	return s.serveHealth(w, r)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) error {
	if r.URL.Path == openapiPath || strings.HasPrefix(r.URL.Path, openapiPath+"/") {
		return s.serveOpenAPI(w, r)
	}
	if wantsAggregated(r) {
		return s.aggregated(w, r)
	}
	if body, ok := s.discovery(r); ok {
		if r.Method != http.MethodGet {
			return errMethod()
		}
		if _, err := viewOf(r); err != nil {
			return err
		}
		return s.writeJSON(w, r, http.StatusOK, body)
	}
	p, ok := parsePath(r.URL.Path)
	if !ok || !s.serves(p) {
		return errNoPath
	}
	k, ok := s.kinds().Find(p.group, p.version, p.resource)
	if !ok || p.subresource != "" && !hasSubresource(k, p.subresource) ||
		k.Namespaced && p.name != "" && p.namespace == "" || !k.Namespaced && p.namespace != "" {
		return errNoResource()
	}
	t := registry.Target{Kind: k, Namespace: p.namespace, Name: p.name, Subresource: p.subresource}
	if connects(k, p.subresource) {
		return s.connect(w, r, t, p.rest)
	}
	if _, err := viewOf(r, formsOf(t.Shown())...); err != nil {
		return err
	}
	if k.Warning != "" {
		warn(w, []string{k.Warning})
	}
	o, err := listOptions(r, p)
	if err != nil {
		return err
	}
	if p.watch {
		if r.Method != http.MethodGet {
			return errMethod()
		}
		t.Name = "" // the options select it
	}
	if o.Watch && t.Name == "" && r.Method == http.MethodGet && !t.Kind.Virtual {
		return s.watch(w, r, t, o)
	}
	return s.withTimeout(r, func(r *http.Request) error { return s.answer(w, r, t) })
}

func (s *Server) serves(p path) bool {
	for _, gv := range s.kinds().GroupVersions() {
		if gv.Group == p.group && gv.Version == p.version {
			return true
		}
	}
	return false
}

// answer answers what is not a watch.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, t registry.Target) error {
	v, isVirtual := s.virtuals[virtualName(t)]
	switch {
	case isVirtual:
		return s.createVirtual(w, r, t, v)
	case t.Kind.Virtual:
		return errMethod()
	case t.Name == "" && r.Method == http.MethodGet:
		return s.list(w, r, t)
	case t.Name == "" && r.Method == http.MethodPost && (t.Namespace != "" || !t.Kind.Namespaced):
		return s.create(w, r, t)
	case t.Name != "" && r.Method == http.MethodGet && allowed(t, "get"):
		return s.get(w, r, t)
	case t.Name != "" && r.Method == http.MethodPut && allowed(t, "update"):
		return s.update(w, r, t)
	case t.Name != "" && r.Method == http.MethodPatch && allowed(t, "patch"):
		return s.patch(w, r, t)
	case t.Name != "" && r.Method == http.MethodDelete && t.Subresource == "":
		return s.delete(w, r, t)
	case t.Name == "" && r.Method == http.MethodDelete && !t.Kind.NoDeleteCollection && (t.Namespace != "" || !t.Kind.Namespaced):
		return s.deleteCollection(w, r, t)
	case t.Subresource == "binding" && r.Method == http.MethodPost:
		return s.bind(w, r, t)
	case t.Subresource == "eviction" && r.Method == http.MethodPost:
		return s.evict(w, r, t)
	}
	return errMethod()
}

func hasSubresource(k *kinds.Kind, name string) bool {
	return slices.ContainsFunc(k.Subresources(), func(s kinds.Subresource) bool { return s.Name == name })
}

// connects reports whether a subresource is one that kubelets answer.
func connects(k *kinds.Kind, name string) bool {
	return slices.ContainsFunc(k.Subresources(), func(s kinds.Subresource) bool { return s.Name == name && s.Connect })
}

// allowed reports whether something can be done with a subresource; with an object all can.
func allowed(t registry.Target, verb string) bool {
	for _, s := range t.Kind.Subresources() {
		if s.Name == t.Subresource {
			return slices.Contains(s.Verbs, verb)
		}
	}
	return true
}

// withTimeout runs an answer with the deadline that the client gave by ?timeout=, or the server's when that is earlier.
func (s *Server) withTimeout(r *http.Request, answer func(*http.Request) error) error {
	d := s.options.Limits.RequestTimeout
	if timeout := r.URL.Query().Get("timeout"); timeout != "" {
		asked, err := time.ParseDuration(timeout)
		if err != nil || asked < 0 {
			return badRequest("invalid timeout: %q", timeout)
		}
		if asked > 0 {
			d = min(d, asked)
		}
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	stop := timing.AfterFunc(s.options.Clock, d, func() { cancel(errTimeout) })
	defer stop()
	err := answer(r.WithContext(ctx))
	if err != nil && errors.Is(context.Cause(ctx), errTimeout) {
		return errTimeout
	}
	return err
}
