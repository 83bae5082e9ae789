package rest

import (
	"bytes"
	stdjson "encoding/json"
	"fmt"
	"strings"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/internal/json"
	"github.com/seed3bce33ad/listwatch/internal/jsonstream"
)

// Object is an object of any kind. It holds the JSON that came over the wire, without white space,
// and decodes what is asked for, each time anew: held in memory it takes little more than that text,
// about a fifth of a map[string]any. Its name, namespace, uid and version are what encoding/json
// reads into the fields of a struct: of two of one key the last counts.
//
// It is used by value, which is a pointer: so it is small, the zero value is an object without name,
// and no decoding into one copy changes another. An Object never changes, and may be read by several
// goroutines at once. Two are Equal, also to reflect.DeepEqual, when their texts are.
type Object struct{ c *content }

// content is what an Object points to. It is not changed once it is shared.
type content struct {
	head listwatch.Head
	text []byte // valid JSON, an object
}

// plain decodes what is in an Object.
var plain = must(json.New(json.Options{Integers: true}))

func must(d *json.Decoder, err error) *json.Decoder {
	if err != nil {
		panic(err)
	}
	return d
}

// ObjectOf returns v, a map[string]any or whatever else encoding/json makes an object of, as an
// Object. It keeps nothing of v. It fails with [listwatch.ErrDecode] when v has no JSON, is no
// object, has metadata that is none, or has a name, namespace, uid or version that is no string.
func ObjectOf(v any) (Object, error) {
	text, err := stdjson.Marshal(v)
	if err != nil {
		return Object{}, fmt.Errorf("%w: %w", listwatch.ErrDecode, err)
	}
	var o Object
	err = o.UnmarshalJSON(text)
	return o, err
}

// Field decodes the field of o that a path of keys leads to, such as Field[string](o, "spec",
// "nodeName"); without a path it decodes all of o. Of a field that o has not, or that is null, it
// returns the zero V: let V be a pointer to tell these from others. It fails with
// [listwatch.ErrDecode] when the path leads through something else than objects, or what is there
// does not fit into V.
//
// V may be whatever encoding/json decodes into. As everywhere in what a [Source] decodes, where V
// leaves it open a whole number is an int64, or a float64 when it is out of range.
//
// Only what stands before the field is looked at, so that the metadata costs little. Keys are
// compared exactly; of several fields of one key, which no API server sends, the first counts.
func Field[V any](o Object, path ...string) (V, error) {
	var value V
	if o.c == nil {
		return value, nil
	}
	text, err := jsonstream.Find(o.c.text, path...)
	if err == nil && text != nil {
		err = plain.Unmarshal(text, &value)
	}
	if err != nil {
		var zero V
		return zero, fmt.Errorf("%w: object %q: field %q: %w", listwatch.ErrDecode, o.head().Key, strings.Join(path, "."), err)
	}
	return value, nil
}

// GetNamespace returns metadata.namespace.
func (o Object) GetNamespace() string { return o.head().Key.Namespace }

// GetName returns metadata.name.
func (o Object) GetName() string { return o.head().Key.Name }

// GetUID returns metadata.uid.
func (o Object) GetUID() string { return o.head().UID }

// GetResourceVersion returns metadata.resourceVersion.
func (o Object) GetResourceVersion() string { return o.head().ResourceVersion }

// GetLabels returns metadata.labels, decoded for this call, or nil when there are none to be read.
// For a single one, [Field] with the path to it makes no map.
func (o Object) GetLabels() map[string]string {
	labels, _ := Field[map[string]string](o, "metadata", "labels")
	return labels
}

// GetAnnotations returns metadata.annotations as GetLabels does the labels.
func (o Object) GetAnnotations() map[string]string {
	annotations, _ := Field[map[string]string](o, "metadata", "annotations")
	return annotations
}

// Decode decodes the object into what v points to: a struct, or a map[string]any, in which numbers
// are as [Field] says. It leaves v alone when o is the zero value. v's own UnmarshalJSON methods, if
// it has some, must neither keep nor change what they are given. It fails with
// [listwatch.ErrDecode].
func (o Object) Decode(v any) error {
	if o.c == nil {
		return nil
	}
	if err := plain.Unmarshal(o.c.text, v); err != nil {
		return fmt.Errorf("%w: object %q: %w", listwatch.ErrDecode, o.head().Key, err)
	}
	return nil
}

// Equal reports whether both have the same text.
func (o Object) Equal(other Object) bool {
	return o.c == other.c || o.c != nil && other.c != nil && bytes.Equal(o.c.text, other.c.text)
}

// String returns the JSON of the object, null for the zero value.
func (o Object) String() string {
	if o.c == nil {
		return "null"
	}
	return string(o.c.text)
}

// MarshalJSON returns a copy of the object's JSON. It never fails.
func (o Object) MarshalJSON() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalJSON makes o the object whose JSON data is; null leaves it alone. data is not kept.
// Copies made of o before stay what they are. It fails with [listwatch.ErrDecode] as [ObjectOf]
// does, and leaves o alone then. It must not run while another goroutine uses o itself.
func (o *Object) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	object, err := newObject(plain, data, nil)
	if err != nil {
		return fmt.Errorf("%w: %w", listwatch.ErrDecode, err)
	}
	*o = object
	return nil
}

func (o Object) head() listwatch.Head {
	if o.c == nil {
		return listwatch.Head{}
	}
	return o.c.head
}

// newObject makes an Object of its JSON without some of its fields, which decoder leaves out, too.
func newObject(decoder *json.Decoder, data []byte, without *jsonstream.Paths) (Object, error) {
	// No more of it is decoded, but all of it is checked.
	var o struct {
		Metadata struct {
			Namespace       string `json:"namespace"`
			Name            string `json:"name"`
			UID             string `json:"uid"`
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	if err := decoder.Unmarshal(data, &o); err != nil {
		return Object{}, err
	}
	m := &o.Metadata
	head := listwatch.Head{Key: listwatch.Key{Namespace: m.Namespace, Name: m.Name}, UID: m.UID, ResourceVersion: m.ResourceVersion}
	return Object{c: &content{head: head, text: jsonstream.Compact(data, without)}}, nil
}
