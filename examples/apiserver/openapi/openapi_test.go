package openapi_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/crd"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/openapi"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type document struct {
	OpenAPI string
	Paths   map[string]map[string]struct {
		Parameters []struct{ Name string }
		GVK        map[string]string `json:"x-kubernetes-group-version-kind"`
	}
	Components struct{ Schemas map[string]map[string]any }
}

func read(t *testing.T, gv schema.GroupVersion) document {
	t.Helper()
	custom, err := crd.Rows(crd.Widgets())
	require.NoError(t, err)
	data, err := openapi.Document(append(kinds.Table(), custom...), gv)
	require.NoError(t, err)
	var d document
	require.NoError(t, json.Unmarshal(data, &d))
	require.Equal(t, "3.0.0", d.OpenAPI)
	return d
}

func TestRecordedSchemas(t *testing.T) {
	data, err := os.ReadFile("testdata/schemas.json")
	require.NoError(t, err)
	var recorded map[string]map[string]any
	require.NoError(t, json.Unmarshal(data, &recorded))
	schemas := read(t, schema.GroupVersion{Version: "v1"}).Components.Schemas
	require.NotEmpty(t, recorded)
	for name, want := range recorded {
		t.Run(name, func(t *testing.T) {
			got, ok := schemas[name]
			require.True(t, ok)
			for property, p := range properties(want) {
				require.Equal(t, known(p), known(properties(got)[property]), property)
			}
			if properties(want) == nil {
				delete(want, "description") // types that are written as something else come without
				delete(got, "description")
			}
			delete(want, "properties") // newer types may have more of them
			delete(got, "properties")
			require.Equal(t, known(want), known(got))
		})
	}
}

// What is said of a custom kind is what its definition says.
func TestRecordedCustomSchemas(t *testing.T) {
	data, err := os.ReadFile("testdata/widgets.json")
	require.NoError(t, err)
	var recorded map[string]map[string]any
	require.NoError(t, json.Unmarshal(data, &recorded))
	schemas := read(t, schema.GroupVersion{Group: "wire.example.com", Version: "v1"}).Components.Schemas
	require.Len(t, recorded, 2)
	for name, want := range recorded {
		require.Equal(t, want, schemas[name], name)
	}
}

func properties(s map[string]any) map[string]any {
	all, _ := s["properties"].(map[string]any)
	return all
}

// known takes away what only comments in the source of the types say, and the two ways in which a
// reference is written.
func known(schema any) map[string]any {
	s, _ := schema.(map[string]any)
	for key, value := range s {
		text, _ := value.(string)
		switch {
		case key == "default", key == "enum", strings.HasPrefix(key, "x-kubernetes-") && key != "x-kubernetes-group-version-kind":
			delete(s, key)
		case key == "description":
			s[key], _, _ = strings.Cut(text, ". ") // newer types have more to say
			s[key] = strings.TrimSuffix(strings.Split(s[key].(string), "\n\nPossible enum values")[0], ".")
		case key == "allOf":
			s["$ref"] = value.([]any)[0].(map[string]any)["$ref"]
			delete(s, key)
		case key == "items", key == "additionalProperties":
			known(value)
		}
	}
	return s
}

func TestPaths(t *testing.T) {
	for gv, names := range map[schema.GroupVersion][2]string{
		{Version: "v1"}:                            {"/api/v1/namespaces/{namespace}/pods/{name}", "/api/v1/nodes/{name}"},
		{Group: "apps", Version: "v1"}:             {"/apis/apps/v1/namespaces/{namespace}/deployments/{name}", "/apis/apps/v1/namespaces/{namespace}/replicasets/{name}"},
		{Group: "wire.example.com", Version: "v1"}: {"/apis/wire.example.com/v1/namespaces/{namespace}/widgets/{name}", "/apis/wire.example.com/v1/namespaces/{namespace}/widgets/{name}"},
	} {
		d := read(t, gv)
		for _, name := range names {
			patch := d.Paths[name]["patch"]
			require.Equal(t, gv.Group, patch.GVK["group"], name)
			require.Contains(t, patch.Parameters, struct{ Name string }{"fieldValidation"})
		}
		for _, s := range d.Components.Schemas {
			text, err := json.Marshal(s)
			require.NoError(t, err)
			for _, ref := range strings.Split(string(text), `"$ref":"#/components/schemas/`)[1:] {
				name, _, _ := strings.Cut(ref, `"`)
				require.Contains(t, d.Components.Schemas, name)
			}
		}
	}
	require.Equal(t, "TokenRequest", read(t, schema.GroupVersion{Version: "v1"}).
		Paths["/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"]["post"].GVK["kind"])
	reviews := read(t, schema.GroupVersion{Group: "authentication.k8s.io", Version: "v1"})
	review := reviews.Paths["/apis/authentication.k8s.io/v1/selfsubjectreviews"]
	require.Len(t, review, 1, "it can be created, and nothing else")
	require.Equal(t, "SelfSubjectReview", review["post"].GVK["kind"])
	require.NotContains(t, reviews.Paths, "/apis/authentication.k8s.io/v1/selfsubjectreviews/{name}")
	require.Equal(t, "api/v1", openapi.Name(schema.GroupVersion{Version: "v1"}))
	require.Equal(t, "apis/apps/v1", openapi.Name(schema.GroupVersion{Group: "apps", Version: "v1"}))
}
