package crd

import (
	_ "embed"
	"encoding/json"
)

//go:embed widgets.json
var widgets []byte

// Widgets returns the definition of wire.example.com Widgets, which stand for any custom kind: with two versions, of
// which one is deprecated, a default, columns, a selectable field, and the subresources status and scale. It is the
// caller's.
func Widgets() *Definition {
	d := new(Definition)
	if err := json.Unmarshal(widgets, d); err != nil {
		panic(err) // it stands beside this file
	}
	return d
}
