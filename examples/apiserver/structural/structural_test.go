package structural_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/structural"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func read(data string) (*structural.Schema, field.ErrorList) {
	var props apiextensionsv1.JSONSchemaProps
	if err := json.Unmarshal([]byte(data), &props); err != nil {
		return nil, field.ErrorList{field.Invalid(nil, "", err.Error())}
	}
	return structural.New(&props, field.NewPath("schema"))
}

func object(t testing.TB, data string) map[string]any {
	t.Helper()
	var o map[string]any
	require.NoError(t, kjson.Unmarshal([]byte(data), &o))
	return o
}

const spec = `{"type":"object","required":["size"],"properties":{
	"size":{"type":"integer","minimum":1,"maximum":100},"color":{"type":"string","enum":["red","blue"]},"short":{"type":"string","maxLength":2},
	"few":{"type":"array","maxItems":1,"items":{"type":"integer"}},"text":{"type":"string","pattern":"^a"},"port":{"x-kubernetes-int-or-string":true},
	"one":{"type":"object","oneOf":[{"required":["a"]},{"required":["b"]}],"properties":{"a":{"type":"string"},"b":{"type":"string"}}}}}`

func TestValidate(t *testing.T) {
	s, errs := read(`{"type":"object","required":["spec"],"properties":{"spec":` + spec + `}}`)
	require.Empty(t, errs)
	for body, want := range map[string]string{
		`{"spec":{"size":1,"port":80}}`:  "",
		`{"spec":{"size":1,"port":"a"}}`: "",
		`{}`:                             "spec: Required value",
		`{"spec":{"size":1000,"color":"pink"}}`: `[spec.color: Unsupported value: "pink": supported values: "red", "blue", ` +
			`spec.size: Invalid value: 1000: spec.size in body should be less than or equal to 100]`,
		`{"spec":{"size":"1"}}`:                     `spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"`,
		`{"spec":{"size":1,"short":"abc"}}`:         "spec.short: Too long: may not be more than 2 bytes",
		`{"spec":{"size":1,"few":[1,2]}}`:           "spec.few: Too many: 2: must have at most 1 item",
		`{"spec":{"size":1,"text":"b"}}`:            `spec.text: Invalid value: "b": spec.text in body should match '^a'`,
		`{"spec":{"size":1,"port":[]}}`:             `spec.port: Invalid value: "array": spec.port in body must be of type integer,string: "array"`,
		`{"spec":{"size":1,"one":{"a":"","b":""}}}`: `<nil>: Invalid value: "": "spec.one" must validate one and only one schema (oneOf). Found 2 valid alternatives`,
	} {
		errs := s.Validate(object(t, body)).ToAggregate()
		if want == "" {
			require.NoError(t, errs, body)
			continue
		}
		require.EqualError(t, errs, want, body)
	}
}

func TestValidateUpdate(t *testing.T) {
	s, errs := read(`{"type":"object","properties":{"spec":` + spec + `}}`)
	require.Empty(t, errs)
	old := `{"spec":{"size":1,"short":"long","few":[1,2],"one":{"a":"","b":""}},"metadata":{"name":"a"}}`
	for next, wrong := range map[string]int{
		strings.Replace(old, `"name":"a"`, `"name":"a","labels":{"x":"y"}`, 1): 0,
		strings.Replace(old, `long`, `other`, 1):                               2, // the alternatives are of the whole object
		strings.Replace(old, `[1,2]`, `[1,3]`, 1):                              2,
		strings.Replace(old, `"size":1,`, ``, 1):                               2,
	} {
		require.Len(t, s.ValidateUpdate(object(t, next), object(t, old)), wrong, next)
	}
}

func TestPruneAndDefault(t *testing.T) {
	s, errs := read(`{"type":"object","properties":{"spec":{"type":"object","default":{},"properties":{
		"a":{"type":"string","default":"x"},"b":{"type":"string","nullable":true},"c":{"type":"string"},
		"open":{"type":"object","x-kubernetes-preserve-unknown-fields":true},
		"each":{"type":"object","additionalProperties":{"type":"object","properties":{"n":{"type":"integer","default":1}}}},
		"list":{"type":"array","items":{"type":"object","properties":{"n":{"type":"integer","default":1}}}}}}}}`)
	require.Empty(t, errs)
	o := object(t, `{"apiVersion":"a/v1","kind":"K","metadata":{"name":"n","bogus":1},"other":1,
		"spec":{"a":null,"b":null,"c":null,"open":{"x":[{"y":null}]},"each":{"k":{"z":1}},"list":[{},{"z":1}]}}`)
	problems, err := s.Prune(o)
	require.NoError(t, err)
	require.Equal(t, `[unknown field "other" unknown field "spec.each.k.z" unknown field "spec.list[1].z" unknown field "metadata.bogus"]`, fmt.Sprint(problems))
	s.Default(o)
	require.Equal(t, object(t, `{"apiVersion":"a/v1","kind":"K","metadata":{"name":"n"},
		"spec":{"a":"x","b":null,"open":{"x":[{"y":null}]},"each":{"k":{"n":1}},"list":[{"n":1},{"n":1}]}}`), o)
	empty := map[string]any{}
	s.Default(empty)
	require.Equal(t, object(t, `{"spec":{"a":"x"}}`), empty)
	_, err = s.Prune(object(t, `{"metadata":{"labels":{"a":1}}}`))
	require.ErrorContains(t, err, "metadata: ")
}

func TestNewRefuses(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"array","items":{"type":"string"}}`:                               "schema.type: Invalid value: \"array\": must be object at the root",
		`{"type":"object","properties":{"a":{}}}`:                                  "schema.properties[a].type: Required value: must not be empty for specified object fields",
		`{"type":"object","properties":{"a":{"type":"string","pattern":"("}}}`:     "schema.properties[a].pattern: Invalid value",
		`{"type":"object","properties":{"a":{"$ref":"#/x"}}}`:                      "schema.properties[a].$ref: Forbidden: $ref is not supported",
		`{"type":"object","properties":{"a":{"type":"integer","default":"x"}}}`:    "schema.properties[a].default: Invalid value",
		`{"type":"object","properties":{"a":{"type":"object","default":{"b":1}}}}`: "must not have unknown fields",
		`{"type":"object","x-kubernetes-validations":[{"rule":"true"}]}`:           "rules in CEL are not evaluated by this server",
	} {
		_, errs := read(schema)
		require.NotEmpty(t, errs, schema)
		require.ErrorContains(t, errs.ToAggregate(), want)
	}
}

// Schemas that are large in one way or another take no more time than their size.
func TestHostileSchemas(t *testing.T) {
	names := make([]string, 20_000)
	for i := range names {
		names[i] = fmt.Sprintf("%q", fmt.Sprint("n", i))
	}
	deep := func(n int) string {
		return strings.Repeat(`{"type":"object","properties":{"a":`, n) + `{"type":"object"}` + strings.Repeat("}}", n)
	}
	start := time.Now()
	for name, schema := range map[string]string{
		"too deep": deep(4000), "deep": deep(190),
		"enum": `{"type":"object","properties":{"a":{"type":"string","enum":[` + strings.Join(names, ",") + `]}}}`,
		"wide": `{"type":"object","properties":{` + strings.Join(names, `:{"type":"string","default":"x"},`) + `:{"type":"string"}}}`,
		"any":  `{"type":"object","anyOf":[` + strings.Repeat(`{"required":["a"]},`, 5000) + `{"required":["b"]}]}`,
	} {
		s, errs := read(schema)
		require.Equal(t, name == "too deep", len(errs) > 0, name)
		if s == nil {
			continue
		}
		o := object(t, `{"a":`+strings.Repeat(`{"a":`, 190)+`"n1"`+strings.Repeat("}", 190)+"}")
		_, err := s.Prune(o)
		require.NoError(t, err)
		s.Default(o)
		s.Validate(o)
	}
	require.Less(t, time.Since(start), time.Minute)
}

// What has been pruned and completed stays as it is, whatever the schema and the object.
func FuzzSchema(f *testing.F) {
	f.Add(`{"type":"object","properties":{"spec":`+spec+`}}`, `{"spec":{"size":1,"x":[null],"few":null},"metadata":{"name":5}}`)
	f.Add(`{"type":"object","properties":{"a":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}}}`,
		`{"a":{"metadata":{"name":"x","y":1},"b":null}}`)
	f.Add(`{"type":"object","additionalProperties":{"type":"array","items":{"type":"integer","default":1}}}`, `{"a":[null,1]}`)
	f.Add(`{"type":"object","properties":{"a":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],`+
		`"items":{"type":"object","required":["k"],"properties":{"k":{"type":"string"}}}}}}`, `{"a":[{"k":"x"},{"k":"x"},{}]}`)
	f.Fuzz(func(t *testing.T, schema, body string) {
		s, errs := read(schema)
		var o map[string]any
		if len(errs) > 0 || kjson.Unmarshal([]byte(body), &o) != nil || o == nil {
			return
		}
		if _, err := s.Prune(o); err != nil {
			return
		}
		s.Default(o)
		s.Validate(o)
		before, err := json.Marshal(o)
		require.NoError(t, err)
		problems, err := s.Prune(o)
		require.NoError(t, err)
		require.Empty(t, problems)
		s.Default(o)
		after, err := json.Marshal(o)
		require.NoError(t, err)
		require.Equal(t, string(before), string(after))
	})
}
