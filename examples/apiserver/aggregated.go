package apiserver

import (
	"crypto/sha512"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
)

// aggregatedType is what the newer form of discovery is asked for and labelled with; clients
// compare it byte by byte.
const aggregatedType = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

// wantsAggregated reports whether a client likes the newer form of discovery best.
func wantsAggregated(r *http.Request) bool {
	if path := strings.Trim(r.URL.Path, "/"); path != "api" && path != "apis" || r.Method != http.MethodGet {
		return false
	}
	for _, accept := range accepted(r) {
		p := accept.Params
		if p["g"] == apidiscovery.GroupName && p["v"] == "v2" && p["as"] == "APIGroupDiscoveryList" {
			return true
		}
		if _, ok := offered(accept, []string{jsonType}); ok && p["as"] == "" {
			return false
		}
	}
	return false
}

// aggregated answers with all there is at once, or that it is what the client has. Then there is
// no Content-Type: clients would put it over the one that they have.
func (s *Server) aggregated(w http.ResponseWriter, r *http.Request) error {
	list := apidiscovery.APIGroupDiscoveryList{
		TypeMeta: metav1.TypeMeta{Kind: "APIGroupDiscoveryList", APIVersion: apidiscovery.SchemeGroupVersion.String()},
		Items:    []apidiscovery.APIGroupDiscovery{},
	}
	core := strings.Trim(r.URL.Path, "/") == "api"
	for _, gv := range s.kinds().GroupVersions() {
		if (gv.Group == "") != core {
			continue
		}
		if last := len(list.Items) - 1; last < 0 || list.Items[last].Name != gv.Group {
			list.Items = append(list.Items, apidiscovery.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: gv.Group}})
		}
		group := &list.Items[len(list.Items)-1]
		group.Versions = append(group.Versions, s.aggregatedVersion(gv))
	}
	data, err := json.Marshal(list)
	if err != nil {
		return err
	}
	etag := fmt.Sprintf(`"%X"`, sha512.Sum512(data))
	w.Header().Set("Cache-Control", "public")
	w.Header().Set("Vary", "Accept")
	w.Header().Set("Etag", etag)
	if r.Header.Get("If-None-Match") == etag {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	return writeEncoded(w, r, http.StatusOK, aggregatedType, data)
}

func (s *Server) aggregatedVersion(gv schema.GroupVersion) apidiscovery.APIVersionDiscovery {
	version := apidiscovery.APIVersionDiscovery{Version: gv.Version, Freshness: apidiscovery.DiscoveryFreshnessCurrent}
	for _, k := range s.kindsOf(gv) {
		scope := apidiscovery.ScopeCluster
		if k.Namespaced {
			scope = apidiscovery.ScopeNamespace
		}
		resource := apidiscovery.APIResourceDiscovery{
			Resource: k.Resource, SingularResource: k.Singular, Scope: scope, ResponseKind: responseKind(k, k.GroupVersionKind()),
			Verbs: k.Verbs(), ShortNames: k.ShortNames, Categories: k.Categories,
		}
		for _, sub := range k.Subresources() {
			resource.Subresources = append(resource.Subresources, apidiscovery.APISubresourceDiscovery{
				Subresource: sub.Name, ResponseKind: responseKind(k, sub.GroupVersionKind), Verbs: sub.Verbs})
		}
		version.Resources = append(version.Resources, resource)
	}
	return version
}

// responseKind names what comes back of a kind. The group and version of a built-in one are left out.
func responseKind(k *kinds.Kind, of schema.GroupVersionKind) *metav1.GroupVersionKind {
	if !k.Custom && of.GroupVersion() == k.GroupVersionKind().GroupVersion() {
		return &metav1.GroupVersionKind{Kind: of.Kind}
	}
	return &metav1.GroupVersionKind{Group: of.Group, Version: of.Version, Kind: of.Kind}
}

// kindsOf returns the kinds of a group and version, by the names of their resources.
func (s *Server) kindsOf(gv schema.GroupVersion) kinds.Kinds {
	var of kinds.Kinds
	for _, k := range s.kinds() {
		if k.Group == gv.Group && k.Version == gv.Version {
			of = append(of, k)
		}
	}
	slices.SortFunc(of, func(a, b *kinds.Kind) int { return strings.Compare(a.Resource, b.Resource) })
	return of
}
