package apiserver

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
)

// healthWait is how long a check of the server's health may take.
const healthWait = 2 * time.Second

// check is one of the things that make the server healthy.
type check struct {
	name string
	run  func(context.Context) error
}

// checks returns those of /healthz, /livez or /readyz. Only a server that is being closed is live and
// not ready.
func (s *Server) checks(endpoint string) []check {
	all := []check{
		{"ping", func(context.Context) error { return nil }},
		{"etcd", func(ctx context.Context) error {
			_, err := s.store.Revision(ctx)
			return err
		}},
	}
	if endpoint == "readyz" {
		all = append(all, check{"shutdown", func(context.Context) error {
			if s.stopping.Load() {
				return errShutdown
			}
			return nil
		}})
	}
	return all
}

// serveHealth answers whether the server is healthy, or how one check goes. It returns false when the
// path is none of its own.
func (s *Server) serveHealth(w http.ResponseWriter, r *http.Request) bool {
	if !isHealth(r.URL.Path) {
		return false
	}
	endpoint, name, one := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	ctx, cancel := context.WithTimeout(r.Context(), healthWait)
	defer cancel()
	all := s.checks(endpoint)
	if !one {
		s.writeHealth(ctx, w, r, endpoint, all)
		return true
	}
	i := slices.IndexFunc(all, func(c check) bool { return c.name == name })
	if i < 0 {
		return false
	}
	if err := all[i].run(ctx); err != nil {
		writeText(w, http.StatusInternalServerError, fmt.Sprintf("internal server error: %v\n", err))
		return true
	}
	writeText(w, http.StatusOK, "ok")
	return true
}

// writeHealth runs all checks but those that the client leaves out.
func (s *Server) writeHealth(ctx context.Context, w http.ResponseWriter, r *http.Request, endpoint string, all []check) {
	excluded := sets.New(r.URL.Query()["exclude"]...)
	var report strings.Builder
	failed := false
	for _, c := range all {
		err := error(nil)
		switch {
		case excluded.Has(c.name):
			fmt.Fprintf(&report, "[+]%s excluded: ok\n", c.name)
			excluded.Delete(c.name)
			continue
		default:
			err = c.run(ctx)
		}
		if err != nil {
			failed = true
			s.options.Logger.Warn("health check failed", "endpoint", endpoint, "check", c.name, "error", err)
			fmt.Fprintf(&report, "[-]%s failed: reason withheld\n", c.name)
			continue
		}
		fmt.Fprintf(&report, "[+]%s ok\n", c.name)
	}
	for _, name := range sets.List(excluded) {
		fmt.Fprintf(&report, "warn: some health checks cannot be excluded: no matches for %q\n", name)
	}
	switch {
	case failed:
		writeText(w, http.StatusInternalServerError, report.String()+endpoint+" check failed\n")
	case r.URL.Query().Has("verbose"):
		writeText(w, http.StatusOK, report.String()+endpoint+" check passed\n")
	default:
		writeText(w, http.StatusOK, "ok")
	}
}
