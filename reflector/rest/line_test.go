package rest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/reflector/rest"
)

// An event that is a line by itself is taken without a search for its end. What seems to be one and
// is not is taken as what it is: as when a space keeps it from seeming so.
func TestLinesThatAreNoEvents(t *testing.T) {
	good := strings.TrimSpace(event("MODIFIED", "a", "10"))
	object := strings.TrimSuffix(strings.TrimPrefix(good, `{"type":"MODIFIED","object":`), "}")
	for name, stream := range map[string]string{
		"one event":           good + "\n",
		"a carriage return":   good + "\r\n" + good + "\r\n",
		"two on a line":       good + event("DELETED", "a", "11"),
		"a space between":     good + " " + event("DELETED", "a", "11"),
		"without line break":  good,
		"member behind":       `{"type":"MODIFIED","object":` + object + `,"kind":"Status"}` + "\n",
		"another type behind": `{"type":"MODIFIED","object":` + object + `,"type":"DELETED"}` + "\n",
		"another object":      `{"type":"MODIFIED","object":` + object + `,"object":` + strings.Replace(object, `"a"`, `"b"`, 1) + "}\n",
		"name twice":          strings.Replace(good, `"name":"a"`, `"name":"x","name":"a"`, 1) + "\n",
		"name twice, behind":  strings.Replace(good, `"10"`, `"10","name":"x"`, 1) + "\n",
		"metadata twice":      `{"type":"MODIFIED","object":` + strings.TrimSuffix(object, "}") + `,"metadata":{"name":"b"}}}` + "\n",
		"kind twice":          `{"type":"MODIFIED","object":` + strings.TrimSuffix(object, "}") + `,"kind":"Node"}}` + "\n",
		"another kind":        strings.Replace(good, `"Pod"`, `"Node"`, 1) + "\n" + event("DELETED", "a", "11"),
		"uid no string":       strings.Replace(good, `"u"`, `5`, 1) + "\n" + event("DELETED", "a", "11"),
		"spec no object":      strings.Replace(good, `"metadata"`, `"spec":5,"metadata"`, 1) + "\n" + event("DELETED", "a", "11"),
		"broken inside":       strings.Replace(good, `"metadata"`, `"x":tru,"metadata"`, 1) + "\n" + event("DELETED", "a", "11"),
		"not closed":          `{"type":"MODIFIED","object":` + object + "\n" + event("DELETED", "a", "11"),
		"over two lines":      strings.Replace(good, `,"metadata"`, ",\n\"metadata\"", 1) + "\n",
		"no namespace":        strings.Replace(good, `"namespace":"ns",`, "", 1) + "\n",
		"too large":           strings.Replace(good, `"metadata"`, `"x":"`+strings.Repeat("x", 2000)+`","metadata"`, 1) + "\n" + event("DELETED", "a", "11"),
	} {
		t.Run(name, func(t *testing.T) {
			outcome := func(text string, o rest.Options) (string, *record[*Pod]) {
				o.Kind, o.MaxObjectBytes = "Pod", 1000
				r, err := watch(answered[*Pod](t, o, func() io.Reader { return strings.NewReader(text) }), listwatch.WatchOptions{ResourceVersion: "1"})
				if err != nil {
					requireClass(t, err)
					return "failed", r
				}
				return "ended", r
			}
			how, r := outcome(stream, rest.Options{})
			same, want := outcome(strings.ReplaceAll(stream, `{"type":`, `{ "type":`), rest.Options{})
			require.Equal(t, same, how)
			require.Empty(t, cmp.Diff(want.full, r.full))
			require.Equal(t, want.refused, r.refused)
			// A decoder of one's own may not notice what is behind an object.
			lax := func(data []byte, v any) error { return json.NewDecoder(bytes.NewReader(data)).Decode(v) }
			how, r = outcome(stream, rest.Options{Decode: lax})
			require.Equal(t, same, how)
			require.GreaterOrEqual(t, len(r.full), len(want.full))
		})
	}
}

// Many objects at once are decoded by two goroutines, and handed on in their order; a fault of one
// stays its own.
func TestManyAtOnceKeepTheirOrder(t *testing.T) {
	var items, want []string
	for n := range 500 {
		name := "p" + strings.Repeat("x", n%7) + string(rune('a'+n%26))
		items = append(items, pod(name, "1"))
		if n%50 == 49 {
			items[n] = strings.Replace(items[n], `"spec":{`, `"spec":{"nodeName":5,`, 1)
			continue
		}
		want = append(want, name)
	}
	r, _, err := list(answered[*Pod](t, rest.Options{}, func() io.Reader { return strings.NewReader(podList("9", "", items...)) }))
	require.NoError(t, err)
	var got []string
	for _, p := range r.objects {
		got = append(got, p.Name)
	}
	require.Equal(t, want, got)
	require.Len(t, r.refused, 10)
}

// A receiver that ends the context is told no more, although more has come.
func TestNothingIsHandedOnOnceTheContextIsDone(t *testing.T) {
	objects := strings.SplitAfter(podList("9", "", pod("a", "1"), pod("b", "2")), "},")
	parts := map[string][]string{
		"list":  {objects[0], objects[1], strings.Join(objects[2:], "")},
		"watch": {event("MODIFIED", "a", "10"), event("MODIFIED", "b", "11")},
	}
	for name, parts := range parts {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			calls, enough := 0, errors.New("enough")
			src := answered[*Pod](t, rest.Options{}, func() io.Reader {
				var readers []io.Reader
				for _, part := range parts {
					readers = append(readers, strings.NewReader(part))
				}
				return io.MultiReader(readers...)
			})
			told := func() error {
				calls++
				cancel(enough)
				return nil
			}
			var err error
			if name == "list" {
				_, err = src.List(ctx, listwatch.ListOptions{}, func(...*Pod) error { return told() })
			} else {
				err = src.Watch(ctx, listwatch.WatchOptions{ResourceVersion: "1"}, func(...listwatch.Event[*Pod]) error { return told() })
			}
			require.ErrorIs(t, err, enough)
			require.Equal(t, 1, calls)
		})
	}
}
