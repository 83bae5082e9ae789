package apiserver

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth"
)

// impersonated returns who a request is to be handled for: who its headers name, when the sender may impersonate him,
// or else the sender.
func (s *Server) impersonated(r *http.Request, sender *auth.User) (*auth.User, error) {
	as, err := impersonation(r.Header)
	if err != nil || as == nil {
		return sender, err
	}
	for _, a := range impersonations(as) {
		a.User, a.Verb, a.Path = sender, "impersonate", r.URL.Path
		if err := s.authorize(r.Context(), a); err != nil {
			return nil, err
		}
	}
	for key := range r.Header {
		if strings.HasPrefix(key, "Impersonate-") {
			r.Header.Del(key)
		}
	}
	if namespace, name, ok := auth.SplitServiceAccount(as.Name); ok && len(as.Groups) == 0 {
		as.Groups = auth.ServiceAccount(namespace, name).Groups
	}
	if as.Name == anonymous {
		return auth.InGroups(as, auth.Unauthenticated), nil
	}
	return auth.InGroups(as, auth.Authenticated), nil
}

// anonymous is the user that somebody without credentials is where such are let in.
const anonymous = "system:anonymous"

// impersonation reads who is to be impersonated; nil when nobody is.
func impersonation(h http.Header) (*auth.User, error) {
	as := &auth.User{
		Name: h.Get(authenticationv1.ImpersonateUserHeader), UID: h.Get(authenticationv1.ImpersonateUIDHeader),
		Groups: h.Values(authenticationv1.ImpersonateGroupHeader),
	}
	for key, values := range h {
		key, ok := strings.CutPrefix(key, authenticationv1.ImpersonateUserExtraHeaderPrefix)
		if !ok {
			continue
		}
		if decoded, err := url.PathUnescape(key); err == nil {
			key = decoded
		}
		if as.Extra == nil {
			as.Extra = make(map[string][]string)
		}
		as.Extra[strings.ToLower(key)] = values
	}
	if as.Name != "" {
		return as, nil
	}
	if as.UID != "" || len(as.Groups) > 0 || as.Extra != nil {
		return nil, badRequest("Impersonate-Group, Impersonate-Uid and Impersonate-Extra headers need an Impersonate-User")
	}
	return nil, nil
}

// impersonations returns what one must be allowed to do to be taken for a user.
func impersonations(as *auth.User) []auth.Attributes {
	all := []auth.Attributes{{Version: "v1", Resource: "users", Name: as.Name}}
	if namespace, name, ok := auth.SplitServiceAccount(as.Name); ok {
		all[0] = auth.Attributes{Version: "v1", Resource: "serviceaccounts", Namespace: namespace, Name: name}
	}
	for _, g := range as.Groups {
		all = append(all, auth.Attributes{Version: "v1", Resource: "groups", Name: g})
	}
	gv := authenticationv1.SchemeGroupVersion
	if as.UID != "" {
		all = append(all, auth.Attributes{Group: gv.Group, Version: gv.Version, Resource: "uids", Name: as.UID})
	}
	for key, values := range as.Extra {
		for _, value := range values {
			all = append(all, auth.Attributes{Group: gv.Group, Version: gv.Version, Resource: "userextras", Subresource: key, Name: value})
		}
	}
	return all
}

// authorize refuses what a user may not do.
func (s *Server) authorize(ctx context.Context, a auth.Attributes) error {
	if s.authorizer == nil {
		return nil
	}
	allowed, reason, err := s.authorizer.Authorize(ctx, a)
	if err == nil && !allowed {
		err = errForbidden(a, reason)
	}
	return err
}
