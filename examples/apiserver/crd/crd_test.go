package crd

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A definition gets the defaults and the status that were recorded.
func TestRecordedDefinition(t *testing.T) {
	data, err := os.ReadFile("../testdata/crd.json")
	require.NoError(t, err)
	want := new(Definition)
	require.NoError(t, json.Unmarshal(data, want))
	got := &Definition{Spec: *want.Spec.DeepCopy()}
	got.Name = want.Name
	got.Spec.Names.ListKind, got.Spec.Names.Singular, got.Spec.Conversion = "", "", nil
	kind := Kind()
	kind.Default(got)
	kind.Prepare(got, nil)
	decide(got, takenBy(nil), want.Status.Conditions[0].LastTransitionTime.Time)
	require.Empty(t, cmp.Diff(want.Spec, got.Spec))
	require.Empty(t, cmp.Diff(want.Status, got.Status))
	require.Empty(t, kind.Validate(got))
	again := got.DeepCopy()
	decide(again, takenBy(nil), time.Now())
	require.Empty(t, cmp.Diff(got.Status, again.Status), "what was decided stays")
}

func TestNames(t *testing.T) {
	first := Widgets()
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&first.Spec)
	decide(first, takenBy(nil), time.Now())
	for reason, n := range map[string]apiextensionsv1.CustomResourceDefinitionNames{
		"NoConflicts":        {Plural: "gadgets", Singular: "gadget", Kind: "Gadget", ListKind: "GadgetList"},
		"PluralConflict":     {Plural: "wd", Singular: "gadget", Kind: "Gadget", ListKind: "GadgetList"},
		"SingularConflict":   {Plural: "gadgets", Singular: "widget", Kind: "Gadget", ListKind: "GadgetList"},
		"KindConflict":       {Plural: "gadgets", Singular: "gadget", Kind: "Widget", ListKind: "GadgetList"},
		"ListKindConflict":   {Plural: "gadgets", Singular: "gadget", Kind: "Gadget", ListKind: "WidgetList"},
		"ShortNamesConflict": {Plural: "gadgets", Singular: "gadget", Kind: "Gadget", ListKind: "GadgetList", ShortNames: []string{"g", "widgets"}},
	} {
		second := &Definition{Spec: apiextensionsv1.CustomResourceDefinitionSpec{Names: n}}
		decide(second, takenBy([]*Definition{first}), time.Now())
		require.Equal(t, reason, second.Status.Conditions[0].Reason)
		require.Equal(t, reason == "NoConflicts", is(second, apiextensionsv1.Established), reason)
	}
	// Who is established stays so when its new names are not free, and keeps the old ones.
	other := Widgets()
	other.Spec.Names.Kind = "Gadget"
	decide(other, takenBy(nil), time.Now())
	other.Spec.Names.Kind = "Widget"
	decide(other, takenBy([]*Definition{first}), time.Now())
	require.True(t, is(other, apiextensionsv1.Established))
	require.False(t, is(other, apiextensionsv1.NamesAccepted))
	require.Equal(t, "Gadget", other.Status.AcceptedNames.Kind)
}

func TestCheck(t *testing.T) {
	for want, change := range map[string]func(*Definition){
		"": func(*Definition) {},
		`metadata.name: Invalid value: "other": must be spec.names.plural+"."+spec.group`: func(d *Definition) { d.Name = "other" },
		`spec.group: Invalid value: "wire": should be a domain with at least one dot`: func(d *Definition) {
			d.Spec.Group, d.Name = "wire", "widgets.wire"
		},
		`metadata.annotations[api-approved.kubernetes.io]: Required value`: func(d *Definition) {
			d.Spec.Group, d.Name = "a.k8s.io", "widgets.a.k8s.io"
		},
		`spec.scope: Unsupported value: "World": supported values: "Cluster", "Namespaced"`: func(d *Definition) { d.Spec.Scope = "World" },
		`spec.names.listKind: Invalid value: "Widget": kind and listKind may not be the same`: func(d *Definition) {
			d.Spec.Names.ListKind = "Widget"
		},
		`spec.names.kind: Invalid value: "1": a DNS-1035 label must`: func(d *Definition) { d.Spec.Names.Kind = "1" },
		`must have exactly one version marked as storage version`:    func(d *Definition) { d.Spec.Versions[1].Storage = true },
		`must contain unique version names`:                          func(d *Definition) { d.Spec.Versions[1].Name = "v1" },
		`spec.versions[0].schema.openAPIV3Schema: Required value: schemas are required`: func(d *Definition) {
			d.Spec.Versions[0].Schema = nil
		},
		`spec.versions: Required value`:                 func(d *Definition) { d.Spec.Versions = nil },
		`spec.conversion.strategy: Unsupported value`:   func(d *Definition) { d.Spec.Conversion.Strategy = "Webhook" },
		`spec.preserveUnknownFields: Invalid value`:     func(d *Definition) { d.Spec.PreserveUnknownFields = true },
		`status.storedVersions[0]: Invalid value: "v0"`: func(d *Definition) { d.Status.StoredVersions = []string{"v0"} },
		`additionalPrinterColumns[0].type: Unsupported`: func(d *Definition) { d.Spec.Versions[0].AdditionalPrinterColumns[0].Type = "x" },
		`spec.versions[0].additionalPrinterColumns`:     func(d *Definition) { d.Spec.Versions[0].AdditionalPrinterColumns[0].JSONPath = ".a[" },
		`subresources.scale.specReplicasPath: Invalid value: ".status.n": should be a json path under .spec`: func(d *Definition) {
			d.Spec.Versions[0].Subresources.Scale.SpecReplicasPath = ".status.n"
		},
		`selectableFields[0].jsonPath: Invalid value`: func(d *Definition) { d.Spec.Versions[0].SelectableFields[0].JSONPath = ".a[0]" },
	} {
		d := Widgets()
		apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&d.Spec)
		change(d)
		errs := Check(d)
		if want == "" {
			require.Empty(t, errs)
			continue
		}
		require.NotEmpty(t, errs, want)
		require.ErrorContains(t, errs.ToAggregate(), want)
	}
	established := Widgets()
	decide(established, takenBy(nil), time.Now())
	moved := established.DeepCopy()
	moved.Spec.Scope = apiextensionsv1.ClusterScoped
	require.ErrorContains(t, checkUpdate(moved, established).ToAggregate(), `spec.scope: Invalid value: "Cluster": field is immutable`)
}

// No definition that is accepted lacks a row, and none ends the process.
func FuzzDefinition(f *testing.F) {
	f.Add(string(widgets))
	f.Add(strings.Replace(string(widgets), `"storage": false`, `"storage": true`, 1))
	f.Add(`{"spec":{"versions":[{"schema":{"openAPIV3Schema":{"type":"object","properties":{"metadata":{"type":"object"}}}}}]}}`)
	kind := Kind()
	f.Fuzz(func(t *testing.T, data string) {
		o, _, err := kind.DecodeForm("application/json", []byte(data))
		if err != nil {
			return
		}
		kind.Default(o)
		if len(kind.Validate(o)) > 0 {
			return
		}
		rows, err := Rows(o.(*Definition))
		require.NoError(t, err)
		require.Len(t, rows, len(o.(*Definition).Spec.Versions))
		for _, k := range rows {
			custom := k.Empty(false)
			k.Default(custom)
			k.Validate(custom)
		}
	})
}
