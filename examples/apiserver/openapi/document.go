package openapi

import (
	"encoding/json"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
)

// groupVersionKind is the extension that says of which kind something is.
const groupVersionKind = "x-kubernetes-group-version-kind"

// Document returns the description of the kinds of one group and version, as JSON.
func Document(table kinds.Kinds, gv schema.GroupVersion) ([]byte, error) {
	all, paths := schemas{}, map[string]*spec3.Path{}
	for _, k := range table {
		if k.Group == gv.Group && k.Version == gv.Version {
			all.addKind(k)
			addPaths(paths, k)
			if k.Group == "" && k.Resource == "serviceaccounts" {
				all.addKind(kinds.TokenRequests())
			}
		}
	}
	return json.Marshal(spec3.OpenAPI{
		Version: "3.0.0", Info: &spec.Info{InfoProps: spec.InfoProps{Title: "Kubernetes", Version: "1.36"}},
		Paths: &spec3.Paths{Paths: paths}, Components: &spec3.Components{Schemas: all},
	})
}

// Name returns the name of a group and version in the index of documents, such as "apis/apps/v1".
func Name(gv schema.GroupVersion) string {
	if gv.Group == "" {
		return "api/" + gv.Version
	}
	return "apis/" + gv.String()
}

// addKind describes the objects of a kind.
func (all schemas) addKind(k *kinds.Kind) {
	if k.New == nil {
		all.addCustom(k)
		return
	}
	t := reflect.TypeOf(k.New()).Elem()
	all.add(t)
	all[nameOf(t)].AddExtension(groupVersionKind, []any{gvk(k)})
}

func gvk(k *kinds.Kind) map[string]any {
	return map[string]any{"group": k.Group, "version": k.Version, "kind": k.Kind}
}

// addPaths describes the requests for a kind's collection and for one object.
func addPaths(paths map[string]*spec3.Path, k *kinds.Kind) {
	collection := "/" + Name(schema.GroupVersion{Group: k.Group, Version: k.Version}) + "/"
	if k.Namespaced {
		collection += "namespaces/{namespace}/"
	}
	collection += k.Resource
	operation := func(of *kinds.Kind, action string, parameters ...string) *spec3.Operation {
		o := &spec3.Operation{OperationProps: spec3.OperationProps{Responses: &spec3.Responses{}}}
		for _, name := range parameters {
			o.Parameters = append(o.Parameters, &spec3.Parameter{ParameterProps: spec3.ParameterProps{
				Name: name, In: "query", Schema: spec.StringProperty()}})
		}
		o.AddExtension(groupVersionKind, gvk(of))
		o.AddExtension("x-kubernetes-action", action)
		return o
	}
	writing := []string{"dryRun", "fieldManager", "fieldValidation"}
	if k.Virtual {
		paths[collection] = &spec3.Path{PathProps: spec3.PathProps{Post: operation(k, "post", writing...)}}
		return
	}
	selecting := []string{"continue", "fieldSelector", "labelSelector", "limit", "resourceVersion", "watch"}
	paths[collection] = &spec3.Path{PathProps: spec3.PathProps{
		Get: operation(k, "list", selecting...), Post: operation(k, "post", writing...)}}
	paths[collection+"/{name}"] = &spec3.Path{PathProps: spec3.PathProps{
		Get: operation(k, "get"), Put: operation(k, "put", writing...), Delete: operation(k, "delete", "dryRun", "gracePeriodSeconds", "propagationPolicy"),
		Patch: operation(k, "patch", append(slices.Clone(writing), "force")...),
	}}
	if k.Group == "" && k.Resource == "serviceaccounts" {
		paths[collection+"/{name}/token"] = &spec3.Path{PathProps: spec3.PathProps{
			Post: operation(kinds.TokenRequests(), "post", writing...)}}
	}
}
