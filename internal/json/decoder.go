package json

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/seed3bce33ad/listwatch/internal/jsonstream"
)

// Options change what a [Decoder] does. The zero value decodes as encoding/json does.
type Options struct {
	// Skip names fields that are left as they are: their values are checked for syntax, but not
	// decoded. A path holds the keys from the top, joined by dots, as in
	// "metadata.managedFields"; arrays on the way are passed through, so
	// "spec.containers.env" speaks of every container. Keys are compared byte for byte, and not
	// looked for in what the package leaves to an Unmarshaler or to encoding/json. Defaults to no path.
	Skip []string
	// Integers decodes an untyped number into int64 when it is written without fraction and
	// exponent and fits; any other stays a float64. Defaults to false: float64 always.
	Integers bool
}

func (o Options) validate() error {
	var faults []error
	for _, path := range o.Skip {
		for key := range strings.SplitSeq(path, ".") {
			if key == "" {
				faults = append(faults, fmt.Errorf("json: skip path %q has an empty key", path))
				break
			}
		}
	}
	return errors.Join(faults...)
}

// Decoder decodes with [Options]. For each call that ran at the same time it keeps the short
// strings and numbers seen lately, up to about 1 MiB, up to 128 results for each type with an
// UnmarshalJSON, 90 KiB at most, 8 texts of up to 4 KiB, and some scratch for each type of slice, map and struct,
// until the garbage collector takes them.
//
// The zero value is ready and has the zero Options. A Decoder is safe for concurrent use and
// must not be copied.
type Decoder struct {
	skip     *jsonstream.Paths
	integers bool
	// idle holds *state that no call uses.
	idle sync.Pool
}

// New returns a decoder. It fails when o is not valid, with all faults joined.
func New(o Options) (*Decoder, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	return &Decoder{skip: jsonstream.NewPaths(o.Skip), integers: o.Integers}, nil
}

// standard serves [Unmarshal].
var standard Decoder

// Unmarshal decodes data into what v points to, as encoding/json's Unmarshal does: see the
// package's comment for what differs. It keeps neither data nor v. It is safe for concurrent
// use.
func Unmarshal(data []byte, v any) error { return standard.Unmarshal(data, v) }

// Unmarshal is like the function [Unmarshal], with the decoder's options.
func (d *Decoder) Unmarshal(data []byte, v any) error {
	target := reflect.ValueOf(v)
	if target.Kind() != reflect.Pointer || target.IsNil() {
		return &stdjson.InvalidUnmarshalError{Type: reflect.TypeOf(v)}
	}
	p := plans.of(target.Type())
	s, _ := d.idle.Get().(*state)
	if s == nil {
		s = newState()
	}
	s.data, s.skip, s.integers = data, d.skip, d.integers
	err := s.document(p, target.UnsafePointer())
	// A state is not given back when a method of the target panics: it may be half used.
	s.reset()
	d.idle.Put(s)
	return err
}
