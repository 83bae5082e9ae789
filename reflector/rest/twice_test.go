package rest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/indexer"
	"github.com/seed3bce33ad/listwatch/reflector/rest"
)

// twice writes objects whose keys come more than once, as no server writes them.
type twice struct{ *rand.Rand }

func (r twice) one(of ...string) string { return of[r.IntN(len(of))] }

// value is mostly a string that head may be made of.
func (r twice) value() string {
	if r.IntN(12) == 0 {
		return r.one(`null`, `""`, `5`, `{}`)
	}
	return r.one(`"1"`, `"2"`, `"12"`, `"\u0031"`)
}

func (r twice) metadata() string {
	if r.IntN(10) == 0 {
		return r.one(`null`, `{}`, `[]`, `7`)
	}
	var members []string
	for _, key := range []string{"name", "namespace", "uid", "resourceVersion"} {
		for range 1 + r.IntN(5)/3 {
			members = append(members, fmt.Sprintf("%q:%s", key, r.value()))
		}
		if r.IntN(8) == 0 {
			members = members[:len(members)-1]
		}
	}
	if r.IntN(10) == 0 {
		members = append(members, r.one(`"na\u006de":"2"`, `"annotations":{"name":"2"}`))
	}
	r.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	return "{" + strings.Join(members, ",") + "}"
}

func (r twice) object() string {
	members := []string{`"kind":"Pod"`, `"metadata":` + r.metadata(), `"x":"` + strings.Repeat("x", 100) + `"`}
	if r.IntN(4) == 0 {
		members = append(members, `"kind":`+r.one(`"Pod"`, `"Node"`, `null`))
	}
	if r.IntN(3) == 0 {
		members = append(members, `"metadata":`+r.metadata())
	}
	if r.IntN(2) == 0 {
		r.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	}
	return "{" + strings.Join(members, ",") + "}"
}

// decodeHead has encoding/json read the head of an object.
func decodeHead(data []byte, head *listwatch.Head) error {
	var o struct {
		Metadata struct{ Namespace, Name, UID, ResourceVersion string }
	}
	err := json.Unmarshal(data, &o)
	m := o.Metadata
	*head = listwatch.Head{Key: listwatch.Key{Namespace: m.Namespace, Name: m.Name}, UID: m.UID, ResourceVersion: m.ResourceVersion}
	return err
}

func headOf(o rest.Object) listwatch.Head {
	return listwatch.Head{Key: listwatch.KeyOf(o), UID: o.GetUID(), ResourceVersion: o.GetResourceVersion()}
}

// Of a key that comes twice, wherever it stands in an object's head, all ways in take what
// encoding/json takes: an Object says of itself what a typed object would say. Keys in another case
// are not among them.
func TestKeysThatComeTwice(t *testing.T) {
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-seed %d", seed)
	r := twice{rand.New(rand.NewPCG(seed, 0))}
	taken := 0
	for range 1000 {
		text := r.object()
		var want listwatch.Head
		ok := decodeHead([]byte(text), &want) == nil && expected(json.RawMessage(text), true) != nil
		if ok {
			taken++
		}
		line := `{"type":"MODIFIED","object":` + text + "}\n"
		for name, stream := range map[string]string{
			"line": line, "cut": " {" + line[1:len(line)-2] + " }\n", "object twice": `{"object":` + r.object() + "," + line[1:],
		} {
			o := rest.Options{Kind: "Pod"}
			answer := func() io.Reader { return strings.NewReader(stream) }
			got, err := watch(answered[rest.Object](t, o, answer), listwatch.WatchOptions{ResourceVersion: "1"})
			require.NoError(t, err, "%s: %s", name, stream)
			require.Equal(t, ok, len(got.full) == 1, "%s: %s", name, stream)
			typed, err := watch(answered[*Pod](t, o, answer), listwatch.WatchOptions{ResourceVersion: "1"})
			require.NoError(t, err)
			require.Equal(t, typed.events, got.events, "%s: %s", name, stream)
			if ok {
				require.Equal(t, want, headOf(got.full[0].Object), "%s: %s", name, stream)
				require.Equal(t, want.ResourceVersion, got.full[0].ResourceVersion, "%s: %s", name, stream)
			}
		}
		listed := podList("9", "", text)
		got, _, err := list(answered[rest.Object](t, rest.Options{Kind: "Pod"}, func() io.Reader { return strings.NewReader(listed) }))
		require.NoError(t, err)
		require.Equal(t, ok, len(got.objects) == 1, text)
		var alone rest.Object
		err = json.Unmarshal([]byte(text), &alone)
		if !ok {
			continue
		}
		require.NoError(t, err)
		require.Equal(t, want, headOf(got.objects[0]), text)
		require.Equal(t, want, headOf(alone), text)
		requireLarge(t, want, line, listed)
		requireCompact(t, got.objects[0])
	}
	require.Greater(t, taken, 100)
}

// requireLarge: what is refused for its size is refused under its name.
func requireLarge(t *testing.T, want listwatch.Head, line, listed string) {
	t.Helper()
	o := rest.Options{Kind: "Pod", MaxObjectBytes: 50}
	got, err := watch(answered[rest.Object](t, o, func() io.Reader { return strings.NewReader(line) }), listwatch.WatchOptions{ResourceVersion: "1"})
	require.NoError(t, err)
	require.Equal(t, []listwatch.Head{want}, got.heads, line)
	got, _, err = list(answered[rest.Object](t, o, func() io.Reader { return strings.NewReader(listed) }))
	require.NoError(t, err)
	require.Equal(t, []listwatch.Head{want}, got.heads, listed)
}

// requireCompact: an object that was held encoded is what it was.
func requireCompact(t *testing.T, o rest.Object) {
	t.Helper()
	s := indexer.New[rest.Object](indexer.Options{Compact: &indexer.Compact{Recent: 1, Lossless: true}})
	other := unmarshal(t, `{"metadata":{"name":"other","resourceVersion":"1"}}`)
	head := headOf(o)
	s.Apply("", []indexer.Write[rest.Object]{{Head: head, Object: o}, {Head: headOf(other), Object: other}})
	s.Pack()
	for _, held := range s.Reader().List() {
		if held.GetName() != "other" {
			require.Equal(t, head, headOf(held), o.String())
		}
	}
	require.Len(t, s.Reader().List(), 2)
}
