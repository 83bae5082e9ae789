package main

import (
	_ "embed"

	"sigs.k8s.io/yaml"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/crd"
)

//go:embed crd.yaml
var definition []byte

// definitions returns the definition of widgets, for an API server that has none.
func definitions() []*crd.Definition {
	d := new(crd.Definition)
	if err := yaml.Unmarshal(definition, d); err != nil {
		panic(err) // it stands beside this file
	}
	return []*crd.Definition{d}
}
