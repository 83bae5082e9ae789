package apiserver_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seed3bce33ad/listwatch/examples/apiserver"
)

const (
	tables       = "application/json;as=Table;v=v1;g=meta.k8s.io"
	metadataOnly = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
	metadataList = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
)

// table reads an answer as a table.
func (a answer) table(t testing.TB) metav1.Table {
	t.Helper()
	require.Equal(t, "application/json", a.header.Get("Content-Type"))
	var table metav1.Table
	require.NoError(t, json.Unmarshal([]byte(a.body), &table), a.body)
	require.Equal(t, metav1.TypeMeta{Kind: "Table", APIVersion: "meta.k8s.io/v1"}, table.TypeMeta, a.body)
	return table
}

func TestTables(t *testing.T) {
	a := newAPI(t, apiserver.Options{})
	require.Equal(t, unversioned(recorded(t, "table-empty.json")), unversioned(strings.TrimSpace(a.do("GET", pods, "", "Accept", tables).body)))
	created := a.do("POST", configMaps, configMap("a", `,"labels":{"app":"x"}},"data":{"k":"v"`), "Accept", tables)
	require.Equal(t, 201, created.code)
	require.Len(t, created.table(t).Rows, 1)
	a.must("POST", configMaps, configMap("b", ""))

	got := a.do("GET", configMaps, "", "Accept", tables)
	var want metav1.Table
	require.NoError(t, json.Unmarshal([]byte(recorded(t, "table-configmaps.json")), &want))
	table := got.table(t)
	require.Empty(t, cmp.Diff(want.ColumnDefinitions, table.ColumnDefinitions))
	require.Equal(t, keysInOrder(t, recorded(t, "table-configmaps.json")), keysInOrder(t, got.body))
	require.Len(t, table.Rows, 2)
	require.Equal(t, []any{"a", 1.0, "0s"}, aged(table.Rows[0].Cells))
	require.Contains(t, string(table.Rows[0].Object.Raw), `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a",`)
	require.NotContains(t, got.body, `"data":{`)

	one := a.do("GET", configMaps+"/a?includeObject=Object", "", "Accept", tables).table(t)
	require.Contains(t, string(one.Rows[0].Object.Raw), `"data":{"k":"v"}`)
	require.Contains(t, string(one.Rows[0].Object.Raw), `{"kind":"ConfigMap","apiVersion":"v1",`)
	require.Equal(t, a.must("GET", configMaps+"/a", "").Metadata.ResourceVersion, one.ResourceVersion)
	require.Contains(t, a.do("GET", configMaps+"?includeObject=None&limit=1", "", "Accept", tables).body, `"object":null`)
	page := a.do("GET", configMaps+"?limit=1", "", "Accept", tables).table(t)
	require.NotEmpty(t, page.Continue)
	require.Equal(t, int64(1), *page.RemainingItemCount)

	bad := a.do("GET", configMaps+"?includeObject=bogus", "", "Accept", tables)
	require.Equal(t, 400, bad.code)
	require.Equal(t, `Unable to convert to Table as requested: includeObject: Invalid value: "bogus": must be 'Metadata', 'Object', 'None', or empty`,
		bad.object(t).Message)
	missing := a.do("GET", configMaps+"/zzz", "", "Accept", tables)
	require.Equal(t, "NotFound", missing.object(t).Reason)
	old := a.do("GET", configMaps, "", "Accept", strings.Replace(tables, "v=v1", "v=v1beta1", 1))
	require.Equal(t, "meta.k8s.io/v1beta1", old.object(t).APIVersion)
}

// aged replaces ages, the last of cells.
func aged(cells []any) []any {
	return append(cells[:len(cells)-1:len(cells)-1], regexp.MustCompile(`^\d+s$`).ReplaceAllString(cells[len(cells)-1].(string), "0s"))
}

func unversioned(s string) string {
	return regexp.MustCompile(`"resourceVersion":"\d+"`).ReplaceAllString(s, `"resourceVersion":"1"`)
}

func TestTableWatch(t *testing.T) {
	a := newAPI(t, apiserver.Options{})
	a.must("POST", pods, pod("a", ""))
	response, err := a.send(t.Context(), "GET", pods+"?watch=true&allowWatchBookmarks=true", "", "Accept", tables)
	require.NoError(t, err)
	defer response.Body.Close()
	type event struct {
		Type   string
		Object json.RawMessage
	}
	lines := json.NewDecoder(response.Body)
	var first, mark event
	require.NoError(t, lines.Decode(&first))
	var table metav1.Table
	require.NoError(t, json.Unmarshal(first.Object, &table))
	require.Equal(t, "ADDED", first.Type)
	require.NotEmpty(t, table.ColumnDefinitions)
	require.Equal(t, "a", table.Rows[0].Cells[0])
	require.NoError(t, lines.Decode(&mark))
	line, err := json.Marshal(struct {
		Type   string          `json:"type"`
		Object json.RawMessage `json:"object"`
	}{mark.Type, mark.Object})
	require.NoError(t, err)
	require.Equal(t, unversioned(recorded(t, "watch-initial-events-table.jsonl")), unversioned(string(line)))
}

func TestPartialMetadata(t *testing.T) {
	a := newAPI(t, apiserver.Options{})
	created := a.must("POST", configMaps, configMap("a", `,"labels":{"app":"x"}},"data":{"k":"v"`))
	got := a.do("GET", configMaps+"/a", "", "Accept", metadataOnly)
	require.Equal(t, "PartialObjectMetadata", got.object(t).Kind)
	require.Equal(t, "meta.k8s.io/v1", got.object(t).APIVersion)
	require.Equal(t, created.Metadata, got.object(t).Metadata)
	require.NotContains(t, got.body, `"k":"v"`)
	require.True(t, strings.HasPrefix(got.body, recorded(t, "partial-metadata-get.json")[:70]), got.body)

	list := a.do("GET", configMaps, "", "Accept", metadataList)
	require.Equal(t, keysInOrder(t, recorded(t, "partial-metadata-list.json")), keysInOrder(t, list.body))
	require.Equal(t, "PartialObjectMetadata", list.object(t).Items[0].Kind)
	require.Equal(t, created.Metadata, list.object(t).Items[0].Metadata)

	for path, accept := range map[string]string{configMaps: metadataOnly, configMaps + "/a": metadataList} {
		got := a.do("GET", path, "", "Accept", accept)
		require.Equal(t, 406, got.code)
		require.Equal(t, "NotAcceptable", got.object(t).Reason)
		require.Regexp(t, `^you requested PartialObjectMetadata(List)?, but the requested object is (not )?a list \(\*core.ConfigMap(List)?\)$`,
			got.object(t).Message)
	}
	watch := a.do("GET", configMaps+"?watch=true&timeoutSeconds=1", "", "Accept", metadataOnly)
	require.Contains(t, watch.body, `{"type":"ADDED","object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a"`)
	require.Empty(t, a.do("GET", configMaps+"?watch=true", "", "Accept", metadataList).body)
}
