package kinds_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/crd"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// widgets returns the row of a custom kind.
func widgets(t *testing.T) *kinds.Kind {
	t.Helper()
	rows, err := crd.Rows(crd.Widgets())
	require.NoError(t, err)
	return rows[0]
}

// recorded returns the items of a recorded list.
func recorded(t *testing.T, name string) []json.RawMessage {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	var list struct{ Items []json.RawMessage }
	require.NoError(t, json.Unmarshal(data, &list))
	require.NotEmpty(t, list.Items)
	return list.Items
}

func TestRecordedObjectsAreStable(t *testing.T) {
	for file, kind := range map[string]*kinds.Kind{
		"list-pods.json":           kinds.Pods(),
		"list-nodes.json":          kinds.Nodes(),
		"list-configmaps.json":     kinds.ConfigMaps(),
		"list-namespaces.json":     kinds.Namespaces(),
		"list-customresource.json": widgets(t),
	} {
		for _, item := range recorded(t, file) {
			var head struct{ Metadata metav1.ObjectMeta }
			require.NoError(t, json.Unmarshal(item, &head))
			o, err := kind.DecodeStored(item, head.Metadata.ResourceVersion)
			require.NoError(t, err)
			got, err := kind.EncodeItem(o)
			require.NoError(t, err)
			require.Equal(t, string(item), string(got), file)

			stored, err := kind.EncodeStored(o)
			require.NoError(t, err)
			require.NotContains(t, string(stored), `"resourceVersion":"`)
			again, err := kind.DecodeStored(stored, head.Metadata.ResourceVersion)
			require.NoError(t, err)
			require.Equal(t, o, again)
			require.Empty(t, kind.Validate(o), file)
		}
	}
}

func TestEncodeNamesTheKind(t *testing.T) {
	for _, kind := range append(kinds.Table(), widgets(t)) {
		o, err := kind.Decode(fmt.Appendf(nil, `{"kind":%q,"apiVersion":%q,"metadata":{"name":"a"}}`,
			kind.Kind, kind.GroupVersionKind().GroupVersion()))
		require.NoError(t, err)
		alone, err := kind.Encode(o)
		require.NoError(t, err)
		require.Contains(t, string(alone), fmt.Sprintf(`"kind":%q`, kind.Kind))
		item, err := kind.EncodeItem(o)
		require.NoError(t, err)
		require.Equal(t, kind.Custom, json.Valid(item) && string(item) == string(alone), kind.Kind)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for body, message := range map[string]string{
		`{"kind":"Pod","apiVersion":"v1"}`: `the kind "Pod" of "v1" in the data does not match`,
		`{"apiVersion":"v2"}`:              `does not match the expected "ConfigMap" of "v1"`,
		`{"metadata":{"labels":{"a":1}}}`:  "cannot unmarshal number",
		`{`:                                "couldn't get version/kind",
		`{"kind":"ConfigMap","data":{"a":["b"]}}`: "cannot unmarshal array",
	} {
		_, err := kinds.ConfigMaps().Decode([]byte(body))
		require.ErrorContains(t, err, message)
	}
	_, err := widgets(t).Decode([]byte(`{"metadata":{"name":"a"}}`))
	require.ErrorContains(t, err, "Object 'Kind' is missing")
	_, err = widgets(t).DecodeStored([]byte(`no`), "1")
	require.ErrorContains(t, err, "stored widgets")
}

func TestWidgetChecks(t *testing.T) {
	for spec, want := range map[string]string{
		`{"size":1}`:                   "",
		`{"size":100,"color":"red"}`:   "",
		`{"color":"red"}`:              "spec.size: Required value",
		`{"size":"1"}`:                 "spec.size: Invalid value",
		`{"size":0}`:                   "should be greater than or equal to 1",
		`{"size":101,"color":"green"}`: "should be less than or equal to 100",
		`{"size":1,"color":"pink"}`:    `supported values: "red", "green", "blue"`,
		`null`:                         "spec: Required value",
	} {
		kind := widgets(t)
		o, err := kind.Decode([]byte(`{"kind":"Widget","apiVersion":"wire.example.com/v1","metadata":{"name":"a","namespace":"b"},"spec":` + spec + `}`))
		require.NoError(t, err)
		kind.Default(o)
		errs := kind.Validate(o).ToAggregate()
		if want == "" {
			require.NoError(t, errs, spec)
			continue
		}
		require.ErrorContains(t, errs, want, spec)
	}
}

func TestFields(t *testing.T) {
	pod, err := kinds.Pods().Decode([]byte(`{"spec":{"nodeName":"n","hostNetwork":true},"status":{"phase":"Running","podIPs":[{"ip":"10.0.0.1"}]}}`))
	require.NoError(t, err)
	fields := kinds.Pods().Fields(pod)
	require.Equal(t, "n", fields["spec.nodeName"])
	require.Equal(t, "true", fields["spec.hostNetwork"])
	require.Equal(t, "Running", fields["status.phase"])
	require.Equal(t, "10.0.0.1", fields["status.podIPs"])
	require.Equal(t, "false", kinds.Nodes().Fields(kinds.Nodes().Empty(false))["spec.unschedulable"])
}

func TestGrace(t *testing.T) {
	kind, ten := kinds.Pods(), int64(10)
	for body, want := range map[string][2]int64{
		`{"spec":{}}`: {0, 0},
		`{"spec":{"nodeName":"n"},"status":{"phase":"Running"}}`:                                   {30, 10},
		`{"spec":{"nodeName":"n","terminationGracePeriodSeconds":5},"status":{"phase":"Running"}}`: {5, 10},
		`{"spec":{"nodeName":"n"},"status":{"phase":"Failed"}}`:                                    {0, 0},
	} {
		pod, err := kind.Decode([]byte(body))
		require.NoError(t, err)
		require.Equal(t, want, [2]int64{kind.Grace(pod, nil), kind.Grace(pod, &ten)}, body)
	}
}

func TestTable(t *testing.T) {
	table := kinds.Table()
	require.Contains(t, table.GroupVersions(), schema.GroupVersion{Group: "apps", Version: "v1"})
	for _, k := range table {
		found, ok := table.Find(k.Group, k.Version, k.Resource)
		require.True(t, ok && found == k, k.Resource)
		require.Equal(t, strings.ToLower(k.Kind), k.Singular)
	}
	kind, ok := table.Find("apps", "v1", "deployments")
	require.True(t, ok)
	require.Equal(t, "Deployment", kind.Kind)
	_, ok = table.Find("", "v1", "deployments")
	require.False(t, ok)
}

func ExampleKind() {
	kind := kinds.ConfigMaps()
	o, err := kind.Decode([]byte(`{"data":{"k":"<v>"},"metadata":{"name":"a"}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	data, err := kind.Encode(o)
	fmt.Println(string(data), err)
	// Output: {"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"},"data":{"k":"\u003cv\u003e"}} <nil>
}

func ExampleKinds() {
	for _, gv := range kinds.Table().GroupVersions() {
		fmt.Println(gv)
	}
	// Output:
	// v1
	// apps/v1
	// authentication.k8s.io/v1
	// authorization.k8s.io/v1
	// autoscaling/v2
	// batch/v1
	// coordination.k8s.io/v1
	// discovery.k8s.io/v1
	// rbac.authorization.k8s.io/v1
}

// A status is copied without anything else, and what may be left out is filled in.
func TestStatusAndDefaults(t *testing.T) {
	for _, c := range []struct {
		kind               *kinds.Kind
		from, to, defaults string
	}{
		{kinds.Pods(), `{"metadata":{"name":"a"},"spec":{"containers":null,"nodeName":"n"},"status":{"phase":"Running"}}`,
			`{"metadata":{},"spec":{"containers":null},"status":{"phase":"Running"}}`,
			`{"metadata":{},"spec":{"containers":null,"restartPolicy":"Always","terminationGracePeriodSeconds":30,
				"dnsPolicy":"ClusterFirst","securityContext":{},"schedulerName":"default-scheduler","enableServiceLinks":true},"status":{}}`},
		{kinds.Namespaces(), `{"metadata":{"name":"a"},"status":{"phase":"Terminating"}}`,
			`{"metadata":{},"spec":{},"status":{"phase":"Terminating"}}`,
			`{"metadata":{"labels":{"kubernetes.io/metadata.name":""}},"spec":{},"status":{}}`},
		{kinds.Nodes(), `{"metadata":{"name":"a"},"spec":{"podCIDR":"x"},"status":{"capacity":{"cpu":"8"}}}`,
			`{"metadata":{},"spec":{},"status":{"capacity":{"cpu":"8"}}}`, ""},
		{widgets(t), `{"kind":"Widget","apiVersion":"wire.example.com/v1","spec":{"size":1},"status":{"phase":"Ready"}}`,
			`{"apiVersion":"wire.example.com/v1","kind":"Widget","status":{"phase":"Ready"}}`,
			`{"apiVersion":"wire.example.com/v1","kind":"Widget"}`},
	} {
		from, err := c.kind.Decode([]byte(c.from))
		require.NoError(t, err)
		to := c.kind.Empty(false)
		c.kind.CopyStatus(to, from)
		encoded, err := c.kind.EncodeItem(to)
		require.NoError(t, err)
		require.JSONEq(t, c.to, withoutNodeInfo(t, encoded))

		c.kind.CopyStatus(to, c.kind.Empty(false))
		if c.defaults != "" {
			c.kind.Default(to)
			encoded, err := c.kind.EncodeItem(to)
			require.NoError(t, err)
			require.JSONEq(t, c.defaults, string(encoded))
		}
	}
	fields := kinds.Namespaces().Fields(kinds.Namespaces().Empty(false))
	require.Equal(t, map[string]string{"status.phase": ""}, fields)
}

// withoutNodeInfo drops what every node's status has.
func withoutNodeInfo(t *testing.T, data []byte) string {
	t.Helper()
	var o map[string]any
	require.NoError(t, json.Unmarshal(data, &o))
	if status, ok := o["status"].(map[string]any); ok {
		delete(status, "nodeInfo")
		delete(status, "daemonEndpoints")
	}
	again, err := json.Marshal(o)
	require.NoError(t, err)
	return string(again)
}

func TestSpecEqual(t *testing.T) {
	decode := func(kind *kinds.Kind, body string) kinds.Object {
		o, err := kind.Decode([]byte(body))
		require.NoError(t, err)
		return o
	}
	pods := kinds.Pods()
	a := decode(pods, `{"spec":{"volumes":[]},"status":{"phase":"Running"}}`)
	require.True(t, pods.SpecEqual(a, decode(pods, `{"spec":{}}`)), "an empty list and none are stored alike")
	require.False(t, pods.SpecEqual(a, decode(pods, `{"spec":{"nodeName":"n"}}`)))
	widget := `{"kind":"Widget","apiVersion":"wire.example.com/v1","spec":{"size":1},"status":{"phase":"Ready"}%s}`
	w := decode(widgets(t), fmt.Sprintf(widget, ""))
	require.True(t, widgets(t).SpecEqual(w, decode(widgets(t), strings.Replace(fmt.Sprintf(widget, ""), "Ready", "Bad", 1))))
	require.False(t, widgets(t).SpecEqual(w, decode(widgets(t), strings.Replace(fmt.Sprintf(widget, ""), `"size":1`, `"size":2`, 1))), "everything else counts")
	require.True(t, kinds.ConfigMaps().SpecEqual(nil, nil), "kinds without generations")
}

// bare is a recorded object without what the server has filled in.
func bare(t *testing.T, kind *kinds.Kind, item []byte) kinds.Object {
	t.Helper()
	var o map[string]any
	require.NoError(t, json.Unmarshal(item, &o))
	metadata := o["metadata"].(map[string]any)
	for _, key := range []string{"resourceVersion", "generation", "managedFields"} {
		delete(metadata, key)
	}
	if kind.Resource == "namespaces" {
		delete(o, "spec")
		delete(metadata["labels"].(map[string]any), "kubernetes.io/metadata.name")
	}
	stripPods(o)
	delete(o, "status")
	data, err := json.Marshal(o)
	require.NoError(t, err)
	bare, err := kind.Decode(data)
	require.NoError(t, err)
	return bare
}

// stripPods takes what the server fills in out of all that looks like the spec of a pod.
func stripPods(v any) {
	defaults := map[string]any{
		"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File", "restartPolicy": "Always",
		"dnsPolicy": "ClusterFirst", "schedulerName": "default-scheduler", "enableServiceLinks": true, "protocol": "TCP",
		"preemptionPolicy": "PreemptLowerPriority", "successThreshold": 1.0, "failureThreshold": 3.0, "periodSeconds": 10.0,
		"timeoutSeconds": 1.0, "scheme": "HTTP", "serviceAccount": "default", "revisionHistoryLimit": 10.0,
		"progressDeadlineSeconds": 600.0, "terminationGracePeriodSeconds": 30.0, "apiVersion": "v1", "defaultMode": 420.0,
	}
	switch v := v.(type) {
	case map[string]any:
		delete(v, "priority")
		delete(v, "strategy")
		sidecar := v["name"] == "sidecar"
		for key, value := range v {
			if s, ok := value.(map[string]any); ok && key == "securityContext" && len(s) == 0 || defaults[key] == value && !sidecar {
				if _, scalar := value.([]any); !scalar {
					delete(v, key)
					continue
				}
			}
			stripPods(value)
		}
		tolerations, _ := v["tolerations"].([]any)
		rest := slices.DeleteFunc(tolerations, func(t any) bool { return t.(map[string]any)["tolerationSeconds"] == 300.0 })
		if v["tolerations"] = rest; len(rest) == 0 {
			delete(v, "tolerations")
		}
	case []any:
		for _, e := range v {
			stripPods(e)
		}
	}
}

// A recorded object comes back as it was recorded when its bare form is completed.
func TestDefaultsAsRecorded(t *testing.T) {
	for file, kind := range map[string]*kinds.Kind{
		"list-pods.json":        kinds.Pods(),
		"list-namespaces.json":  kinds.Namespaces(),
		"list-deployments.json": kinds.Deployments(),
		"list-replicasets.json": kinds.ReplicaSets(),
		"list-leases.json":      kinds.Leases(),
		"list-events.json":      kinds.Events(),
	} {
		for _, item := range recorded(t, file) {
			want, err := kind.DecodeStored(item, "")
			require.NoError(t, err)
			want.SetManagedFields(nil)
			want.SetGeneration(0)
			got := bare(t, kind, item)
			if kind.Default != nil {
				kind.Default(got)
			}
			if kind.CopyStatus != nil {
				kind.CopyStatus(got, want)
			}
			if kind.Prepare != nil {
				kind.Prepare(got, nil)
			}
			require.Empty(t, kind.Validate(got), file)
			encoded, err := kind.EncodeItem(got)
			require.NoError(t, err)
			wanted, err := kind.EncodeItem(want)
			require.NoError(t, err)
			require.JSONEq(t, string(wanted), string(encoded))
		}
	}
}
