package apiserver

import (
	"fmt"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth"
)

// trusted is who sends requests to a server that does not ask.
var trusted = &auth.User{Name: "system:admin", Groups: []string{auth.Masters, auth.Authenticated}}

// admitted finds out who sends a request and whether it may do what it wants, and returns it with the user in its
// context.
func (s *Server) admitted(r *http.Request) (*http.Request, error) {
	u := trusted
	if s.access.authenticator != nil {
		var err error
		if u, err = s.access.authenticator.Authenticate(r); err != nil || u == nil {
			s.options.Logger.Info("request refused: who sent it is not known", "client", r.RemoteAddr, "error", err)
			return r, errUnauthorized()
		}
	}
	r.Header.Del("Authorization") // secrets come no further than this
	r = r.WithContext(auth.With(r.Context(), u))
	u, err := s.impersonated(r, u)
	if err != nil {
		return r, err
	}
	r = r.WithContext(auth.With(r.Context(), u))
	return r, s.authorize(r.Context(), attributesOf(r, u))
}

// errUnauthorized is the answer to who does not show who he is.
func errUnauthorized() error {
	err := failure(http.StatusUnauthorized, metav1.StatusReasonUnauthorized, "Unauthorized")
	err.ErrStatus.Details = nil
	return err
}

// attributesOf reads from a request what it wants to do.
func attributesOf(r *http.Request, u *auth.User) auth.Attributes {
	a := auth.Attributes{User: u, Verb: strings.ToLower(r.Method), Path: r.URL.Path}
	p, ok := parsePath(r.URL.Path)
	if !ok {
		return a
	}
	a.Group, a.Version, a.Resource, a.Subresource = p.group, p.version, p.resource, p.subresource
	a.Namespace, a.Name = p.namespace, p.name
	if p.group == "" && p.resource == "namespaces" {
		a.Namespace = p.name // so that it can be allowed in the namespace
	}
	switch r.Method {
	case http.MethodPost:
		a.Verb = "create"
	case http.MethodPut:
		a.Verb = "update"
	case http.MethodGet, http.MethodHead:
		a.Verb = "get"
		if p.watch || p.name == "" && isTrue(r.URL.Query(), "watch") {
			a.Verb = "watch"
		} else if p.name == "" {
			a.Verb = "list"
		}
		if a.Verb != "get" {
			selectByFields(&a, r.URL.Query().Get("fieldSelector"))
		}
	case http.MethodDelete:
		if p.name == "" {
			a.Verb = "deletecollection"
		}
	}
	return a
}

// selectByFields notes what a list or a watch selects. One that selects a name is for what has that name alone.
func selectByFields(a *auth.Attributes, selector string) {
	f, err := fields.ParseSelector(selector)
	if err != nil || f.Empty() {
		return
	}
	a.FieldSelector = f
	if name, ok := f.RequiresExactMatch(metav1.ObjectNameField); ok && a.Name == "" {
		a.Name = name
	}
}

// errForbidden is the answer to a request that may not do what it wants.
func errForbidden(a auth.Attributes, reason string) error {
	if reason != "" {
		reason = ": " + reason
	}
	if a.Resource == "" {
		return failure(http.StatusForbidden, metav1.StatusReasonForbidden,
			fmt.Sprintf("forbidden: User %q cannot %s path %q%s", a.User.Name, a.Verb, a.Path, reason))
	}
	what := a.Resource
	if a.Subresource != "" {
		what += "/" + a.Subresource
	}
	where := "at the cluster scope"
	if a.Namespace != "" {
		where = fmt.Sprintf("in the namespace %q", a.Namespace)
	}
	of := a.Resource
	if a.Group != "" {
		of += "." + a.Group
	}
	if a.Name != "" {
		of += fmt.Sprintf(" %q", a.Name)
	}
	err := failure(http.StatusForbidden, metav1.StatusReasonForbidden, fmt.Sprintf(
		"%s is forbidden: User %q cannot %s resource %q in API group %q %s%s", of, a.User.Name, a.Verb, what, a.Group, where, reason))
	err.ErrStatus.Details = &metav1.StatusDetails{Name: a.Name, Group: a.Group, Kind: a.Resource}
	return err
}
