package server

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seed3bce33ad/listwatch/examples/watchbench/pod"
)

// encoding is one of the two forms on the wire.
type encoding int

const (
	asJSON encoding = iota
	asProtobuf
)

// magic stands before each protobuf message that names its own kind.
const magic = "k8s\x00"

// encoded are the pods of a collection in one form, as they stand in a list.
type encoded struct {
	form  encoding
	bytes []byte
	items []item
}

// item is where one pod is. What separates it from the one before stands between lead and start.
type item struct {
	lead, start, end int
	version, sent    int // where the digits are, from start on
}

// encode makes the first n pods, in both forms.
func encode(seed uint64, n int) ([2]*encoded, error) {
	parts := make([][2]*encoded, runtime.GOMAXPROCS(0))
	faults := make([]error, len(parts))
	var working sync.WaitGroup
	for p := range parts {
		working.Go(func() {
			parts[p], faults[p] = encodeRange(seed, n*p/len(parts), n*(p+1)/len(parts))
		})
	}
	working.Wait()
	var all [2]*encoded
	for form := range all {
		all[form] = &encoded{form: encoding(form)}
		for _, part := range parts {
			all[form].join(part[form])
		}
	}
	return all, errors.Join(faults...)
}

func encodeRange(seed uint64, from, to int) ([2]*encoded, error) {
	out := [2]*encoded{{form: asJSON}, {form: asProtobuf}}
	for n := from; n < to; n++ {
		p := pod.Make(seed, n)
		text, err := json.Marshal(p)
		if err != nil {
			return out, err
		}
		binary, err := p.Marshal()
		if err != nil {
			return out, err
		}
		for form, data := range [][]byte{text, binary} {
			if err := out[form].add(data, p.ResourceVersion); err != nil {
				return out, fmt.Errorf("pod %d: %w", n, err)
			}
		}
	}
	return out, nil
}

// add appends one pod.
func (e *encoded) add(data []byte, version string) error {
	sent := strings.Repeat("0", pod.SentLength)
	if bytes.Count(data, []byte(version)) != 1 || bytes.Count(data, []byte(sent)) != 1 {
		return errors.New("version or time of sending are not there once")
	}
	it := item{lead: len(e.bytes)}
	if e.form == asJSON {
		e.bytes = append(e.bytes, ',')
	} else {
		e.bytes = protowire.AppendTag(e.bytes, 2, protowire.BytesType)
		e.bytes = protowire.AppendVarint(e.bytes, uint64(len(data)))
	}
	it.start = len(e.bytes)
	e.bytes = append(e.bytes, data...)
	it.end = len(e.bytes)
	it.version, it.sent = bytes.Index(data, []byte(version)), bytes.Index(data, []byte(sent))
	e.items = append(e.items, it)
	return nil
}

func (e *encoded) join(other *encoded) {
	base := len(e.bytes)
	e.bytes = append(e.bytes, other.bytes...)
	for _, it := range other.items {
		it.lead, it.start, it.end = it.lead+base, it.start+base, it.end+base
		e.items = append(e.items, it)
	}
}

// list returns the parts of a list of the items from from up to to; together they are its body.
func (e *encoded) list(from, to int, meta metav1.ListMeta) ([][]byte, error) {
	if e.form == asJSON {
		text, err := json.Marshal(meta)
		if err != nil {
			return nil, err
		}
		head := append([]byte(`{"kind":"PodList","apiVersion":"v1","metadata":`), text...)
		return [][]byte{append(head, `,"items":[`...), e.between(from, to), []byte("]}\n")}, nil
	}
	binary, err := meta.Marshal()
	if err != nil {
		return nil, err
	}
	items := e.between(from, to)
	list := appendBytes(nil, 1, binary)
	head := append([]byte(magic), appendBytes(nil, 1, typeMeta("PodList"))...)
	head = protowire.AppendTag(head, 2, protowire.BytesType)
	head = protowire.AppendVarint(head, uint64(len(list)+len(items)))
	return [][]byte{append(head, list...), items, unknownEnd}, nil
}

func (e *encoded) between(from, to int) []byte {
	switch {
	case from >= to:
		return nil
	case e.form == asJSON:
		return e.bytes[e.items[from].start:e.items[to-1].end]
	}
	return e.bytes[e.items[from].lead:e.items[to-1].end]
}

// event is what a frame tells of a pod.
type event struct {
	kind    string
	number  int
	version int64 // 0: the pod's own
	sent    int64 // in nanoseconds since 1970
}

// appendEvent appends the frame of an event to b.
func (e *encoded) appendEvent(b []byte, ev event) []byte {
	it := e.items[ev.number]
	data := e.bytes[it.start:it.end]
	var at int
	if e.form == asJSON {
		b = append(append(append(b, `{"type":"`...), ev.kind...), `","object":{"kind":"Pod","apiVersion":"v1",`...)
		at = len(b) - 1 // the brace stands further ahead
		b = append(append(b, data[1:]...), '}', '\n')
	} else {
		b, at = appendProtobufEvent(b, ev.kind, "Pod", data)
	}
	if ev.version != 0 {
		overwrite(b[at+it.version:], ev.version)
		overwrite(b[at+it.sent:], ev.sent)
	}
	return b
}

// overwrite writes a number over as many digits as it has.
func overwrite(b []byte, n int64) {
	var digits [20]byte
	copy(b, strconv.AppendInt(digits[:0], n, 10))
}

// object returns an object of another kind in this form, and its frame, such as a bookmark's.
func (e *encoded) frame(kind string, object protobufObject, as metav1.TypeMeta) ([]byte, error) {
	if e.form == asProtobuf {
		data, err := object.Marshal()
		b, _ := appendProtobufEvent(nil, kind, as.Kind, data)
		return b, err
	}
	text, err := json.Marshal(struct {
		Type   string `json:"type"`
		Object any    `json:"object"`
	}{kind, object})
	return append(text, '\n'), err
}

// protobufObject is an object of the API.
type protobufObject interface{ Marshal() ([]byte, error) }

// unknownEnd are the empty contentEncoding and contentType at the end of an envelope.
var unknownEnd = []byte{0x1a, 0, 0x22, 0}

func typeMeta(kind string) []byte {
	return appendBytes(appendBytes(nil, 1, []byte("v1")), 2, []byte(kind))
}

func appendBytes(b []byte, field protowire.Number, data []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), data)
}

// appendProtobufEvent appends a length, and a WatchEvent with an object in an envelope in it. It
// also returns where in b the object begins.
func appendProtobufEvent(b []byte, kind, objectKind string, data []byte) ([]byte, int) {
	meta := typeMeta(objectKind)
	sized := func(n int) int { return 1 + protowire.SizeBytes(n) }
	envelope := len(magic) + sized(len(meta)) + sized(len(data)) + len(unknownEnd)
	raw := sized(envelope)
	b = binary.BigEndian.AppendUint32(b, uint32(sized(len(kind))+sized(raw)))
	b = appendBytes(b, 1, []byte(kind))
	for _, n := range []struct {
		field  protowire.Number
		length int
	}{{2, raw}, {1, envelope}} {
		b = protowire.AppendVarint(protowire.AppendTag(b, n.field, protowire.BytesType), uint64(n.length))
	}
	b = appendBytes(append(b, magic...), 1, meta)
	b = protowire.AppendVarint(protowire.AppendTag(b, 2, protowire.BytesType), uint64(len(data)))
	at := len(b)
	return append(append(b, data...), unknownEnd...), at
}
