package jsonstream_test

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch/internal/jsonstream"
)

func TestHead(t *testing.T) {
	v, err := jsonstream.Head([]byte(` {"type":"A","object":{"kind":"K"}} 5`), shape)
	require.NoError(t, err)
	require.Equal(t, `"A" {"kind":"K"} "K"`, string(v.Field(slotType))+" "+string(v.Field(slotObject))+" "+string(v.Field(slotKind)))
	_, err = jsonstream.Head([]byte(`{"type":"A"`), shape)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	var syntax *jsonstream.SyntaxError
	_, err = jsonstream.Head([]byte(`{"type":[}`), shape)
	require.ErrorAs(t, err, &syntax)
}

func TestCompactIsExact(t *testing.T) {
	in := []byte(`{"a":{"b":"` + string(bytes.Repeat([]byte("x"), 5000)) + `"},"c":1}`)
	require.Equal(t, cap(in[:len(in):len(in)]), cap(jsonstream.Compact(in, nil)))
	out := jsonstream.Compact(in, jsonstream.NewPaths([]string{"a.b"}))
	require.Equal(t, `{"a":{},"c":1}`, string(out))
	require.Less(t, cap(out), 100)
}

// FuzzValid compares Find and Compact with encoding/json.
func FuzzValid(f *testing.F) {
	f.Add([]byte(` {"a" : {"b":[1.5e-3 , "\"]}\\" , {}, [ ]]}, "\u0061":null} `), "a", "b")
	f.Add([]byte(`[[],{"a":{"a":true}}]`), "a", "a")
	f.Fuzz(func(t *testing.T, data []byte, first, second string) {
		if !json.Valid(data) {
			return
		}
		var want bytes.Buffer
		require.NoError(t, json.Compact(&want, data))
		require.Equal(t, want.String(), string(jsonstream.Compact(data, nil)))
		// A path that leads nowhere has every bracket looked into.
		without := jsonstream.NewPaths([]string{first + "\x00.x"})
		if !bytes.Contains(data, []byte(`\u0000`)) {
			require.Equal(t, want.String(), string(jsonstream.Compact(data, without)))
		}
		left := jsonstream.Compact(data, jsonstream.NewPaths([]string{first}))
		require.True(t, json.Valid(left), "%q", left)
		if found, err := jsonstream.Find(left, first); err == nil {
			require.Nil(t, found, "it was to be left out")
		}
		found, err := jsonstream.Find(data, first, second)
		require.False(t, err != nil && found != nil)
		require.True(t, found == nil || json.Valid(found), "%q", found)
	})
}
