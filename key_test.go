package listwatch_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
)

func TestParseKeyRefusesWhatIsNoKey(t *testing.T) {
	t.Parallel()
	for _, good := range []listwatch.Key{{Name: "a"}, {Namespace: "ns", Name: "a"}, {Namespace: "n", Name: "x.y-z"}} {
		k, err := listwatch.ParseKey(good.String())
		require.NoError(t, err)
		require.Equal(t, good, k)
	}
	for _, bad := range []string{"", "/", "a/", "/a", "a/b/c", "a//b", "//"} {
		_, err := listwatch.ParseKey(bad)
		require.ErrorIs(t, err, listwatch.ErrBadKey, "%q", bad)
	}
}

func TestKeyOfWorksForClusterScopeAndOrder(t *testing.T) {
	t.Parallel()
	node := &listwatch.Meta{Name: "node-1"}
	require.Equal(t, "node-1", listwatch.KeyOf(node).String())
	require.Equal(t, listwatch.Key{Namespace: "ns", Name: "p"}, listwatch.KeyOf(listwatch.Meta{Namespace: "ns", Name: "p"}))
	a, b := listwatch.Key{Namespace: "a", Name: "z"}, listwatch.Key{Namespace: "b", Name: "a"}
	require.Negative(t, a.Compare(b))
	require.Positive(t, b.Compare(a))
	require.Negative(t, a.Compare(listwatch.Key{Namespace: "a", Name: "zz"}))
	require.Zero(t, a.Compare(a))
}

func FuzzParseKey(f *testing.F) {
	for _, s := range []string{"a", "ns/a", "a/b/c", "/", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		k, err := listwatch.ParseKey(s)
		if err != nil {
			require.ErrorIs(t, err, listwatch.ErrBadKey)
			require.Zero(t, k)
			return
		}
		require.Equal(t, s, k.String())
		require.NotEmpty(t, k.Name)
	})
}

func ExampleKey() {
	k, err := listwatch.ParseKey("kube-system/coredns")
	fmt.Println(k.Namespace, k.Name, err)
	_, err = listwatch.ParseKey("a/b/c")
	fmt.Println(err)
	// Output:
	// kube-system coredns <nil>
	// bad key: "a/b/c" is neither "name" nor "namespace/name"
}

// Widget is a kind of one's own.
type Widget struct {
	listwatch.Meta
	Size int
}

func ExampleMeta() {
	w := &Widget{Meta: listwatch.Meta{Namespace: "shop", Name: "hammer", ResourceVersion: "7"}, Size: 3}
	fmt.Println(listwatch.KeyOf(w), w.GetResourceVersion())
	// Output: shop/hammer 7
}

func ExampleObject() {
	var o listwatch.Object = Widget{Meta: listwatch.Meta{Name: "saw"}}
	fmt.Println(listwatch.KeyOf(o))
	// Output: saw
}

func ExampleHead() {
	held := listwatch.Head{Key: listwatch.Key{Name: "saw"}, UID: "u1", ResourceVersion: "7"}
	listed := held
	listed.ResourceVersion = "8"
	fmt.Println(held == listed, listwatch.Newer(listed.ResourceVersion, held.ResourceVersion))
	// Output: false true
}
