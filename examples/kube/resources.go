package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Resource is a resource that the API server serves, of a kind that this program need not know.
type Resource struct {
	// GroupVersionResource is where its objects are, and Kind what one is.
	schema.GroupVersionResource
	Kind string
	// Namespaced objects are in namespaces.
	Namespaced bool
	// Verbs are what it can be asked for.
	Verbs []string
}

// Can tells whether a resource can be asked for all of some verbs, such as "list".
func (r Resource) Can(verbs ...string) bool {
	return !slices.ContainsFunc(verbs, func(v string) bool { return !slices.Contains(r.Verbs, v) })
}

// Resources asks the server for all resources that it serves, each in the version that it prefers. An error tells of
// groups that could not be asked for; the resources of the others are returned all the same.
func (c *Cluster) Resources(ctx context.Context) ([]Resource, error) {
	var groups metav1.APIGroupList
	if err := c.read(ctx, "/apis", &groups); err != nil {
		return nil, err
	}
	versions := []string{"v1"}
	for _, g := range groups.Groups {
		versions = append(versions, g.PreferredVersion.GroupVersion)
	}
	var all []Resource
	var errs []error
	for _, v := range versions {
		path := "/apis/" + v
		if v == "v1" {
			path = "/api/v1"
		}
		var served metav1.APIResourceList
		if err := c.read(ctx, path, &served); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", v, err))
			continue
		}
		for _, r := range served.APIResources {
			if gv, err := schema.ParseGroupVersion(v); err == nil && !strings.Contains(r.Name, "/") { // that would be a subresource
				all = append(all, Resource{gv.WithResource(r.Name), r.Kind, r.Namespaced, r.Verbs})
			}
		}
	}
	return all, errors.Join(errs...)
}

// read gets what is under a path.
func (c *Cluster) read(ctx context.Context, path string, into any) error {
	return answer(ctx, c.rest(schema.GroupVersion{Version: "v1"}).Get().AbsPath(path).SetHeader("Accept", "application/json"), into)
}
