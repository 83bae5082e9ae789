package apiserver_test

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/seed3bce33ad/listwatch/examples/apiserver"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
)

// protobufOf returns an object as clients that speak protobuf send it.
func protobufOf(t *testing.T, o runtime.Object) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(o, &b))
	return b.String()
}

func fromProtobuf(t *testing.T, body string) runtime.Object {
	t.Helper()
	require.True(t, strings.HasPrefix(body, "k8s\x00"), body)
	o, _, err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Decode([]byte(body), nil, nil)
	require.NoError(t, err)
	return o
}

func TestBodiesInEveryForm(t *testing.T) {
	a := newAPI(t, apiserver.Options{})
	o := &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{Kind: "ConfigMap", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{Name: "pb"}, Data: map[string]string{"k": "v"}}
	for name, c := range map[string]struct{ form, body string }{
		"pb":  {kinds.Protobuf, protobufOf(t, o)},
		"yy":  {kinds.YAML, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: yy\ndata: {k: v}\n"},
		"y2":  {"application/yaml; charset=utf-8", "metadata: {name: y2}\ndata: {k: v}\n"},
		"js":  {kinds.JSON, `{"metadata":{"name":"js"},"data":{"k":"v"}}`},
		"js2": {"", `{"metadata":{"name":"js2"},"data":{"k":"v"}}`},
	} {
		header := []string{"Content-Type", c.form}
		if c.form == "" {
			header = nil
		}
		got := a.do("POST", configMaps, c.body, header...)
		require.Equal(t, 201, got.code, got.body)
		require.Equal(t, map[string]string{"k": "v"}, a.must("GET", configMaps+"/"+name, "").Data)
	}
	o.Name, o.Data["k"] = "js", "w"
	require.Equal(t, 200, a.do("PUT", configMaps+"/js", protobufOf(t, o), "Content-Type", kinds.Protobuf).code)
	for _, bad := range []struct {
		path, form, body string
		code             int
	}{
		{configMaps, kinds.YAML, "a: [", 400},
		{configMaps, kinds.YAML, "- a", 400},
		{configMaps, kinds.Protobuf, "k8s\x00nonsense", 400},
		{configMaps, kinds.Protobuf, `{"metadata":{"name":"x"}}`, 400},
		{pods, kinds.Protobuf, protobufOf(t, o), 400},
		{configMaps, "a/b; =", "{}", 415},
		{widgets, kinds.Protobuf, protobufOf(t, o), 415},
		{configMaps, "application/cbor", "{}", 415},
	} {
		got := a.do("POST", bad.path, bad.body, "Content-Type", bad.form)
		require.Equal(t, bad.code, got.code, bad.form+" "+bad.body+" "+got.body)
	}
	grace := int64(0)
	gone := a.do("DELETE", configMaps+"/pb", protobufOf(t, &metav1.DeleteOptions{
		TypeMeta: metav1.TypeMeta{Kind: "DeleteOptions", APIVersion: "v1"}, GracePeriodSeconds: &grace}), "Content-Type", kinds.Protobuf)
	require.Equal(t, 200, gone.code, gone.body)
	require.Equal(t, 415, a.do("DELETE", configMaps+"/yy", `x`, "Content-Type", "text/plain").code)
	require.Equal(t, 422, a.do("DELETE", configMaps+"/yy", `{"orphanDependents":true,"propagationPolicy":"Orphan"}`).code)
}

func TestAnswersInEveryForm(t *testing.T) {
	a := newAPI(t, apiserver.Options{})
	a.must("POST", configMaps, `{"metadata":{"name":"a"},"data":{"k":"v"}}`)
	a.must("POST", widgets, widget("w", ""))
	got := a.do("GET", configMaps+"/a", "", "Accept", kinds.Protobuf+", "+kinds.JSON)
	require.Equal(t, kinds.Protobuf, got.header.Get("Content-Type"))
	require.Equal(t, "v", fromProtobuf(t, got.body).(*corev1.ConfigMap).Data["k"])
	got = a.do("GET", configMaps, "", "Accept", kinds.Protobuf)
	list := fromProtobuf(t, got.body).(*corev1.ConfigMapList)
	require.Equal(t, "a", list.Items[0].Name)
	require.Equal(t, a.must("GET", configMaps, "").Metadata.ResourceVersion, list.ResourceVersion)
	require.Empty(t, list.Items[0].Kind, "items do not name their kind")

	got = a.do("GET", widgets, "", "Accept", kinds.Protobuf)
	require.Equal(t, 406, got.code, "custom kinds have no such form")
	require.Equal(t, kinds.JSON, a.do("GET", widgets, "", "Accept", kinds.Protobuf+","+kinds.JSON).header.Get("Content-Type"))

	got = a.do("GET", configMaps+"/a", "", "Accept", kinds.YAML)
	require.Equal(t, kinds.YAML, got.header.Get("Content-Type"))
	require.True(t, strings.HasPrefix(got.body, "apiVersion: v1\ndata:\n  k: v\nkind: ConfigMap\n"), got.body)
	require.Contains(t, a.do("GET", widgets, "", "Accept", kinds.YAML).body, "kind: WidgetList")
	require.Equal(t, 406, a.do("GET", configMaps+"?watch=true", "", "Accept", kinds.YAML).code)
}

// Recorded nodes, encoded as protobuf, are what was recorded in that form, byte by byte.
func TestRecordedProtobuf(t *testing.T) {
	want, err := os.ReadFile("testdata/list-nodes.pb")
	require.NoError(t, err)
	var list struct {
		Metadata metav1.ListMeta
		Items    []json.RawMessage
	}
	require.NoError(t, json.Unmarshal([]byte(recorded(t, "list-nodes.json")), &list))
	kind := kinds.Nodes()
	nodes := &corev1.NodeList{TypeMeta: metav1.TypeMeta{Kind: "NodeList", APIVersion: "v1"}, ListMeta: list.Metadata}
	for _, item := range list.Items {
		o, err := kind.Decode(item)
		require.NoError(t, err)
		nodes.Items = append(nodes.Items, *o.(*corev1.Node))
	}
	got, err := kind.EncodeProtobuf(nodes)
	require.NoError(t, err)
	theirs := fromProtobuf(t, string(want)).(*corev1.NodeList)
	theirs.ResourceVersion = list.Metadata.ResourceVersion
	ours := fromProtobuf(t, string(got)).(*corev1.NodeList)
	require.Len(t, ours.Items, len(theirs.Items))
	for i := range ours.Items {
		require.Equal(t, theirs.Items[i].Spec, ours.Items[i].Spec)
		require.Equal(t, theirs.Items[i].Labels, ours.Items[i].Labels)
	}
}

func TestFieldValidation(t *testing.T) {
	a := newAPI(t, apiserver.Options{})
	unknown := `{"metadata":{"name":%q},"bogus":1,"data":{"a":"1","a":"2"}}`
	body := func(name string) string { return strings.Replace(unknown, "%q", `"`+name+`"`, 1) }
	got := a.do("POST", configMaps, body("warned"))
	require.Equal(t, 201, got.code)
	require.Equal(t, []string{`299 - "unknown field \"bogus\""`, `299 - "duplicate field \"data.a\""`}, got.header.Values("Warning"))
	require.Equal(t, "2", got.object(t).Data["a"], "the last one wins")
	require.NotContains(t, got.body, "bogus")
	require.Empty(t, a.do("POST", configMaps+"?fieldValidation=Ignore", body("ignored")).header.Values("Warning"))
	got = a.do("POST", configMaps+"?fieldValidation=Strict", body("strict"))
	require.Equal(t, 400, got.code)
	require.Equal(t, `ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "bogus", duplicate field "data.a"`,
		got.object(t).Message)
	require.Equal(t, 422, a.do("POST", configMaps+"?fieldValidation=Maybe", body("x")).code)
	require.Len(t, a.do("PUT", configMaps+"/warned", `{"Metadata":{},"metadata":{"name":"warned"}}`).header.Values("Warning"), 1, "names of fields are exact")
	require.Len(t, a.patch(mergePatch, configMaps+"/warned", `{"bogus":1}`).header.Values("Warning"), 1)
	require.Len(t, a.do("POST", configMaps, "metadata: {name: yy}\ndata: {}\ndata: {}\n", "Content-Type", kinds.YAML).header.Values("Warning"), 1)
}

func TestDryRun(t *testing.T) {
	a := newAPI(t, apiserver.Options{})
	before := a.must("POST", configMaps, `{"metadata":{"name":"a"},"data":{"k":"v"}}`)
	made := a.must("POST", configMaps+"?dryRun=All", configMap("x", ""))
	require.NotEmpty(t, made.Metadata.UID)
	require.Empty(t, made.Metadata.ResourceVersion)
	require.Equal(t, 409, a.do("POST", configMaps+"?dryRun=All", configMap("a", "")).code)
	require.Equal(t, 422, a.do("POST", configMaps+"?dryRun=true", configMap("x", "")).code)
	require.Equal(t, map[string]string{"k": "w"}, a.must("PUT", configMaps+"/a?dryRun=All", `{"metadata":{"name":"a"},"data":{"k":"w"}}`).Data)
	require.Equal(t, map[string]string{"k": "w"}, a.mustPatch(mergePatch, configMaps+"/a?dryRun=All", `{"data":{"k":"w"}}`).Data)
	require.Equal(t, 201, a.patch(applyPatch, configMaps+"/y?dryRun=All&fieldManager=m", `{"apiVersion":"v1","kind":"ConfigMap"}`).code)
	require.Equal(t, 404, a.do("PUT", configMaps+"/z?dryRun=All", configMap("z", "")).code)
	a.must("DELETE", configMaps+"/a?dryRun=All", "")
	a.must("DELETE", configMaps+"?dryRun=All", "")
	a.must("POST", pods, pod("p", `,"nodeName":"n"`))
	require.NotNil(t, a.must("DELETE", pods+"/p?dryRun=All", "").Metadata.DeletionTimestamp)
	require.Equal(t, before, a.must("GET", configMaps+"/a", ""))
	require.Len(t, a.must("GET", configMaps, "").Items, 1)
	require.Nil(t, a.must("GET", pods+"/p", "").Metadata.DeletionTimestamp)
}
