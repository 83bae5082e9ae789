package rest_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/reflector/rest"
)

// TestSpoiledMemberIsNoEmptyList: a list whose items can't be recognised any more, because bytes that
// are no JSON stand in their name, is not taken for an empty one.
func TestSpoiledMemberIsNoEmptyList(t *testing.T) {
	t.Parallel()
	whole := podList("9", "", pod("a", "1"))
	for _, garbage := range []string{"\x00}]\xff{garbage", "\x1f", "\xff", "\xc3"} {
		spoiled := strings.Replace(whole, `"items"`, `"it`+garbage+`ems"`, 1)
		require.NotEqual(t, whole, spoiled)
		_, _, err := list(source[*Pod](newScript(t, body(spoiled)), rest.Options{Kind: "Pod"}))
		require.ErrorIs(t, err, listwatch.ErrDecode, "%q", spoiled)
	}
	_, _, err := list(source[*Pod](newScript(t, body(strings.Replace(whole, `"items"`, `"größe":1,"items"`, 1))), rest.Options{Kind: "Pod"}))
	require.NoError(t, err)
}

// TestKeyOfWhatIsNoJSONIsNotBelieved: bytes that hide the namespace of an object leave another key.
// Whoever is told of that key would take the object that it was for gone.
func TestKeyOfWhatIsNoJSONIsNotBelieved(t *testing.T) {
	t.Parallel()
	refused := func(text string) (heads []listwatch.Head) {
		_, err := source[*Pod](newScript(t, body(text)), rest.Options{Kind: "Pod"}).List(t.Context(), listwatch.ListOptions{
			Refused: func(h listwatch.Head, err error) error {
				require.ErrorIs(t, err, listwatch.ErrDecode)
				heads = append(heads, h)
				return nil
			},
		}, func(...*Pod) error { return nil })
		require.NoError(t, err)
		return heads
	}
	item := pod("a", "1")
	spoiled := strings.Replace(item, `"namespace"`, "\"name\x00space\"", 1)
	require.NotEqual(t, item, spoiled)
	require.Equal(t, []listwatch.Head{{}}, refused(podList("9", "", spoiled)))
	item = `{"metadata":{"namespace":"ns","name":"a","resourceVersion":"2"},"spec":{"replicas":"many"}}`
	require.Equal(t, []listwatch.Head{{Key: listwatch.Key{Namespace: "ns", Name: "a"}, ResourceVersion: "2"}}, refused(podList("9", "", item)))
}
