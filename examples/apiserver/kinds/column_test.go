package kinds_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
)

// recordedTable is what an API server showed of objects, and when.
type recordedTable struct {
	Now     time.Time
	Columns []metav1.TableColumnDefinition
	Objects []json.RawMessage
	Rows    []struct {
		Cells      []any
		Conditions []metav1.TableRowCondition
	}
}

func readTable(t *testing.T, name string, into any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, into))
}

// One object at least of each kind, as the real server showed it.
func TestRecordedTables(t *testing.T) {
	tables := map[string]recordedTable{}
	readTable(t, "tables.json", &tables)
	for resource, at := range map[string]string{
		"pods": "2026-11-30T08:13:42Z", "nodes": "2026-11-30T08:13:42Z", "customresource": "2026-11-30T08:12:40Z",
	} {
		var table struct {
			recordedTable
			ColumnDefinitions []metav1.TableColumnDefinition
		}
		readTable(t, "table-"+resource+".json", &table)
		table.Columns, table.Objects = table.ColumnDefinitions, recorded(t, "list-"+resource+".json")
		now, err := time.Parse(time.RFC3339, at)
		require.NoError(t, err)
		table.Now = now
		tables[resource] = table.recordedTable
	}
	tables["widgets"] = tables["customresource"]
	delete(tables, "customresource")
	for _, k := range append(kinds.Table(), widgets(t)) {
		if k.Virtual {
			continue // nobody lists what is not stored
		}
		table, ok := tables[k.Resource]
		require.True(t, ok, k.Resource)
		t.Run(k.Resource, func(t *testing.T) { table.check(t, k) })
	}
}

func (r recordedTable) check(t *testing.T, k *kinds.Kind) {
	definitions := []metav1.TableColumnDefinition{}
	for _, c := range k.TableColumns() {
		definitions = append(definitions, c.TableColumnDefinition)
	}
	require.Empty(t, cmp.Diff(r.Columns, definitions))
	require.NotEmpty(t, r.Rows)
	row := 0
	for _, data := range r.Objects {
		var object struct{ Metadata metav1.ObjectMeta }
		require.NoError(t, json.Unmarshal(data, &object))
		if object.Metadata.Labels["app"] == "big" {
			continue // left out of the recorded table
		}
		o, err := k.DecodeStored(data, "1")
		require.NoError(t, err)
		cells := []any{}
		for _, c := range k.TableColumns() {
			cells = append(cells, c.Cell(o, r.Now))
		}
		encoded, err := json.Marshal(cells)
		require.NoError(t, err)
		want, err := json.Marshal(r.Rows[row].Cells)
		require.NoError(t, err)
		require.Equal(t, string(want), string(encoded))
		if k.RowConditions != nil {
			require.Empty(t, cmp.Diff(r.Rows[row].Conditions, k.RowConditions(o)))
		}
		row++
	}
	require.Len(t, r.Rows, row)
}

// What the recorded pods don't show.
func TestPodStatus(t *testing.T) {
	for body, want := range map[string][3]string{
		`{"status":{"phase":"Running","containerStatuses":[{"state":{"terminated":{"signal":9}}}]}}`:                        {"0/1", "Signal:9", "0"},
		`{"status":{"phase":"Failed","containerStatuses":[{"state":{"terminated":{"exitCode":3}},"restartCount":2}]}}`:      {"0/1", "ExitCode:3", "2"},
		`{"status":{"phase":"Pending","initContainerStatuses":[{"state":{"terminated":{"exitCode":1,"reason":"Error"}}}]}}`: {"0/1", "Init:Error", "0"},
		`{"status":{"phase":"Pending","initContainerStatuses":[{"state":{"waiting":{"reason":"CrashLoopBackOff"}},"restartCount":4}]}}`: {
			"0/1", "Init:CrashLoopBackOff", "4"},
		`{"spec":{"initContainers":[{"name":"s","restartPolicy":"Always"}]},"status":{"phase":"Running","initContainerStatuses":[` +
			`{"name":"s","started":true,"ready":true,"restartCount":1}],"containerStatuses":[{"ready":true,"state":{"running":{}},"restartCount":1}]}}`: {
			"2/2", "Running", "2"},
		`{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"False"}],"containerStatuses":[` +
			`{"ready":true,"state":{"running":{}}},{"state":{"terminated":{"reason":"Completed"}}}]}}`: {"1/1", "NotReady", "0"},
		`{"metadata":{"deletionTimestamp":"2026-11-30T07:00:00Z"},"status":{"reason":"NodeLost"}}`: {"0/1", "Unknown", "0"},
	} {
		pod, err := kinds.Pods().Decode([]byte(body))
		require.NoError(t, err)
		pod.(*corev1.Pod).Spec.Containers = make([]corev1.Container, 1)
		columns := kinds.Pods().TableColumns()
		var got [3]string
		for i := range got {
			got[i] = columns[i+1].Cell(pod, time.Time{}).(string)
		}
		require.Equal(t, want, got, body)
	}
}

func TestCustomColumn(t *testing.T) {
	column := func(kind, path string) ([]kinds.Column, error) {
		return kinds.CustomColumns([]apiextensionsv1.CustomResourceColumnDefinition{{Name: "a", Type: kind, JSONPath: path}})
	}
	_, err := column("string", ".spec[")
	require.Error(t, err)
	o := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{"s": " x ", "n": int64(3), "at": "2026-11-30T07:00:00Z", "m": map[string]any{"a": int64(1)}}}}
	now := time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		kind, path string
		want       any
	}{
		{"string", ".spec.s", "x"}, {"string", ".spec.n", nil}, {"integer", ".spec.n", int64(3)},
		{"date", ".spec.at", "60m"}, {"date", ".spec.s", "<invalid>"}, {"date", ".spec.none", nil}, {"string", ".a.b.c", nil},
	} {
		columns, err := column(c.kind, c.path)
		require.NoError(t, err)
		require.Equal(t, c.want, columns[1].Cell(o, now), c.path)
	}
	columns, err := kinds.CustomColumns(nil)
	require.NoError(t, err)
	o.SetCreationTimestamp(metav1.NewTime(now.Add(-time.Hour)))
	require.Equal(t, "60m", columns[1].Cell(o, now), "the age when there is no column")
}
