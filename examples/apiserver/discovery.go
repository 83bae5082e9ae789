package apiserver

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/openapi"
)

// versionBody is the answer to /version. Clients read gitVersion, as that of the API whose
// answers this server gives.
const versionBody = `{
  "major": "1",
  "minor": "36",
  "gitVersion": "v1.36.3",
  "gitCommit": "",
  "gitTreeState": "",
  "buildDate": "1970-01-01T00:00:00Z",
  "goVersion": "",
  "compiler": "gc",
  "platform": ""
}`

// discovery returns the answer to a request for what there is, in its older form, which all
// clients still read.
func (s *Server) discovery(r *http.Request) (any, bool) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case r.URL.Path == "/":
		return s.root(), true
	case parts[0] == "api" && len(parts) == 1:
		return metav1.APIVersions{
			TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: s.versions(""),
			ServerAddressByClientCIDRs: []metav1.ServerAddressByClientCIDR{
				{ClientCIDR: "0.0.0.0/0", ServerAddress: hostOf(s.url)}},
		}, true
	case parts[0] == "api" && len(parts) == 2:
		return s.resources(schema.GroupVersion{Version: parts[1]})
	case parts[0] == "apis" && len(parts) == 1:
		list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []metav1.APIGroup{}}
		for _, gv := range s.kinds().GroupVersions() {
			if g, ok := s.group(gv.Group); ok && (len(list.Groups) == 0 || list.Groups[len(list.Groups)-1].Name != g.Name) {
				list.Groups = append(list.Groups, g)
			}
		}
		return list, true
	case parts[0] == "apis" && len(parts) == 2:
		g, ok := s.group(parts[1])
		g.TypeMeta = metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}
		return g, ok
	case parts[0] == "apis" && len(parts) == 3:
		return s.resources(schema.GroupVersion{Group: parts[1], Version: parts[2]})
	}
	return nil, false
}

func (s *Server) versions(group string) []string {
	var versions []string
	for _, gv := range s.kinds().GroupVersions() {
		if gv.Group == group {
			versions = append(versions, gv.Version)
		}
	}
	return versions
}

func (s *Server) group(name string) (metav1.APIGroup, bool) {
	g := metav1.APIGroup{Name: name}
	for _, v := range s.versions(name) {
		g.Versions = append(g.Versions, metav1.GroupVersionForDiscovery{
			GroupVersion: schema.GroupVersion{Group: name, Version: v}.String(), Version: v})
	}
	if name == "" || len(g.Versions) == 0 {
		return g, false
	}
	g.PreferredVersion = g.Versions[0]
	return g, true
}

func (s *Server) resources(gv schema.GroupVersion) (any, bool) {
	list := metav1.APIResourceList{
		TypeMeta: metav1.TypeMeta{Kind: "APIResourceList"}, GroupVersion: gv.String(),
	}
	if gv.Group != "" {
		list.APIVersion = "v1"
	}
	for _, k := range s.kindsOf(gv) {
		list.APIResources = append(list.APIResources, metav1.APIResource{
			Name: k.Resource, SingularName: k.Singular, Namespaced: k.Namespaced, Kind: k.Kind,
			ShortNames: k.ShortNames, Categories: k.Categories,
			Verbs: k.Verbs(), StorageVersionHash: storageVersionHash(k),
		})
		for _, sub := range k.Subresources() {
			resource := metav1.APIResource{
				Name: k.Resource + "/" + sub.Name, Namespaced: k.Namespaced, Kind: sub.GroupVersionKind.Kind, Verbs: sub.Verbs,
			}
			if gv := sub.GroupVersionKind.GroupVersion(); gv != k.GroupVersionKind().GroupVersion() {
				resource.Group, resource.Version = gv.Group, gv.Version
			}
			list.APIResources = append(list.APIResources, resource)
		}
	}
	return list, len(list.APIResources) > 0
}

// root lists the paths that there are.
func (s *Server) root() metav1.RootPaths {
	paths := []string{"/api", "/apis", "/healthz", "/livez", openapiPath, "/readyz", "/version"}
	for _, gv := range s.kinds().GroupVersions() {
		paths = append(paths, "/"+openapi.Name(gv))
		if gv.Group != "" {
			paths = append(paths, "/apis/"+gv.Group)
		}
	}
	for _, endpoint := range []string{"healthz", "livez", "readyz"} {
		for _, c := range s.checks(endpoint) {
			paths = append(paths, "/"+endpoint+"/"+c.name)
		}
	}
	slices.Sort(paths)
	return metav1.RootPaths{Paths: slices.Compact(paths)}
}

func hostOf(address string) string {
	_, host, _ := strings.Cut(address, "://")
	return host
}

// storageVersionHash tells clients whether two names of a kind are for the same objects in storage. What is
// not stored has none.
func storageVersionHash(k *kinds.Kind) string {
	if k.Virtual {
		return ""
	}
	version := k.Version
	if k.Stored != "" {
		version = k.Stored
	}
	sum := sha256.Sum256([]byte(k.Group + "/" + version + "/" + k.Kind))
	return base64.StdEncoding.EncodeToString(sum[:8])
}
