package pair_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/e2e/churn"
	"github.com/seed3bce33ad/listwatch/examples/e2e/pair"
	"github.com/seed3bce33ad/listwatch/reflector/rest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var key = listwatch.Key{Namespace: "n1", Name: "a"}

func object(label, node string) map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{"namespace": "n1", "name": "a", "labels": map[string]any{"app": label}},
		"spec":     map[string]any{"nodeName": node},
	}
}

func bodies(t *testing.T, o any) map[listwatch.Key]pair.Body {
	all, err := pair.BodiesOf(func(yield func(listwatch.Key, any) bool) { yield(key, o) })
	require.NoError(t, err)
	return all
}

func TestBodiesOfBothSidesAreTheSame(t *testing.T) {
	t.Parallel()
	o, err := rest.ObjectOf(object("x", ""))
	require.NoError(t, err)
	ours := bodies(t, o)
	theirs := bodies(t, &unstructured.Unstructured{Object: object("x", "")})
	require.NoError(t, pair.Diff(ours, theirs))
	require.NotContains(t, ours[key], "kind")
}

func TestDiff(t *testing.T) {
	t.Parallel()
	x, y := bodies(t, object("x", "")), bodies(t, object("y", ""))
	none := map[listwatch.Key]pair.Body{}
	require.NoError(t, pair.Diff(none, none))
	require.ErrorContains(t, pair.Diff(x, y), "n1/a is another")
	require.ErrorContains(t, pair.Diff(x, none), "n1/a is missing")
	require.ErrorContains(t, pair.Diff(none, x), "n1/a should not be there")
	many := map[listwatch.Key]pair.Body{}
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		many[listwatch.Key{Name: name}] = nil
	}
	require.ErrorContains(t, pair.Diff(many, none), "and 2 more")
}

func TestSelection(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		spec pair.Spec
		want bool
	}{
		{"all", pair.Spec{}, true},
		{"label", pair.Spec{Label: "x"}, true},
		{"another label", pair.Spec{Label: "y"}, false},
		{"node", pair.Spec{Node: churn.Node}, true},
		{"another node", pair.Spec{Node: "other"}, false},
		{"namespace", pair.Spec{Namespaces: []string{"n2", "n1"}}, true},
		{"another namespace", pair.Spec{Namespaces: []string{"n2"}}, false},
	} {
		all := bodies(t, object("x", churn.Node))
		require.Equal(t, c.want, len(c.spec.Select(all)) == 1, c.name)
	}
	only := (&pair.Spec{Metadata: true}).Select(bodies(t, object("x", "")))
	require.NotContains(t, only[key], "spec")
	require.Contains(t, only[key], "metadata")
}
