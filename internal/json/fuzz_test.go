package json_test

import (
	"bytes"
	"testing"
)

// Any data gives the same result as encoding/json, or an error in both.
func FuzzUnmarshal(f *testing.F) {
	for _, document := range documents {
		f.Add([]byte(document))
	}
	for _, member := range members {
		f.Add([]byte(`{` + member + `}`))
	}
	f.Add(fixture(f, "get-pod.json"))
	for line := range bytes.Lines(fixture(f, "watch-pods-basic.jsonl")) {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, fresh := range targets {
			same(t, data, fresh)
		}
	})
}
