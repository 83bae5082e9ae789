package indexer_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/indexer"
)

func TestExplainFollowsAnObject(t *testing.T) {
	t.Parallel()
	x := newStore[listwatch.Meta](indexer.Options{})
	r := x.Reader()
	name := func(m listwatch.Meta) []string { return []string{m.Name, m.UID, m.Name} }
	_, err := indexer.AddIndex(r, "name", name)
	require.NoError(t, err)
	_, err = indexer.AddIndex(r, "none", func(listwatch.Meta) []int { return nil })
	require.NoError(t, err)
	k := listwatch.Key{Namespace: "ns", Name: "a"}
	_, ok := r.Explain(k)
	require.False(t, ok)

	x.Put(listwatch.Meta{Namespace: "ns", Name: "b", UID: "u", ResourceVersion: "1"})
	for _, version := range []string{"2", "3"} {
		x.Put(listwatch.Meta{Namespace: "ns", Name: "a", UID: "u" + version, ResourceVersion: version})
		x.Mark(k, 7)
		got, ok := r.Explain(k)
		require.True(t, ok)
		require.Empty(t, cmp.Diff(indexer.Entry{
			Head: listwatch.Head{Key: k, UID: "u" + version, ResourceVersion: version}, Mark: 7,
			Indexes: []indexer.EntryIndex{{Name: "name", Values: []any{"a", "u" + version}}, {Name: "none"}},
		}, got))
	}
	require.True(t, r.RemoveIndex("name"))
	got, _ := r.Explain(k)
	require.Equal(t, []indexer.EntryIndex{{Name: "none"}}, got.Indexes)
	x.Delete(k)
	_, ok = r.Explain(k)
	require.False(t, ok)
	require.NoError(t, x.Check())
}

func TestSomeAreTheFirstKeys(t *testing.T) {
	t.Parallel()
	x := newStore[listwatch.Meta](indexer.Options{})
	require.Empty(t, x.Reader().Some(3))
	for n := range 5 {
		x.Put(listwatch.Meta{Name: fmt.Sprint(n), ResourceVersion: "1"})
	}
	all := x.Reader().Keys()
	for n, want := range map[int]int{-1: 0, 0: 0, 3: 3, 5: 5, 9: 5} {
		require.Equal(t, all[:want], x.Reader().Some(n))
	}
}

func ExampleReader_Explain() {
	x := newStore[listwatch.Meta](indexer.Options{})
	_, _ = indexer.AddIndex(x.Reader(), "initial", func(m listwatch.Meta) []string { return []string{m.Name[:1]} })
	x.Put(listwatch.Meta{Name: "web", ResourceVersion: "7"})
	e, ok := x.Reader().Explain(listwatch.Key{Name: "web"})
	fmt.Println(ok, e.Head.ResourceVersion, e.Indexes)
	// Output: true 7 [{initial [w]}]
}
