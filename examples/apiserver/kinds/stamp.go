package kinds

import (
	"strconv"

	"github.com/seed3bce33ad/listwatch/internal/jsonstream"
)

// What Stamp looks for in an object.
const (
	slotUID = iota + 1
	slotVersion
)

var stampShape = jsonstream.NewShape(jsonstream.Member{Name: "metadata", In: jsonstream.NewShape(
	jsonstream.Member{Name: "uid", Slot: slotUID},
	jsonstream.Member{Name: "resourceVersion", Slot: slotVersion},
)})

// Stamp returns what [Kind.EncodeItem] makes of an object with that version, out of what
// [Kind.EncodeStored] or Stamp made of it, in memory of its own. The object is not decoded, unless it has
// no uid or the kind was defined in another way before, so most of what could be wrong with data goes unnoticed.
func (k *Kind) Stamp(data []byte, version int64) ([]byte, error) {
	number := make([]byte, 0, 24)
	number = append(number, '"')
	number = strconv.AppendInt(number, version, 10)
	number = append(number, '"')
	value, err := jsonstream.Head(data, stampShape)
	if err != nil || k.Recast != nil {
		return k.stampDecoded(data, version)
	}
	if from, to, ok := place(data, value.Field(slotVersion)); ok {
		return splice(data, from, to, number), nil
	}
	from, to, ok := place(data, value.Field(slotUID))
	const name = `"uid":`
	switch {
	case !ok || from < len(name) || string(data[from-len(name):from]) != name:
		return k.stampDecoded(data, version)
	case k.Custom: // in the order of the alphabet
		return splice(data, from-len(name), from-len(name), []byte(`"resourceVersion":`), number, []byte(",")), nil
	}
	return splice(data, to, to, []byte(`,"resourceVersion":`), number), nil
}

func (k *Kind) stampDecoded(data []byte, version int64) ([]byte, error) {
	o, err := k.DecodeStored(data, strconv.FormatInt(version, 10))
	if err != nil {
		return nil, err
	}
	return k.EncodeItem(o)
}

// place finds out where in data a part of it stands.
func place(data, part []byte) (from, to int, ok bool) {
	from = cap(data) - cap(part)
	if len(part) == 0 || from < 0 || from >= len(data) || &data[from] != &part[0] {
		return 0, 0, false
	}
	return from, from + len(part), true
}

// splice returns data with something else in place of what stands between from and to.
func splice(data []byte, from, to int, parts ...[]byte) []byte {
	size := len(data) - (to - from)
	for _, part := range parts {
		size += len(part)
	}
	out := make([]byte, 0, size)
	out = append(out, data[:from]...)
	for _, part := range parts {
		out = append(out, part...)
	}
	return append(out, data[to:]...)
}

// Head returns what stands before the item in the JSON of an object that names its kind; the item's own
// opening brace is left out then. For custom kinds, whose items name theirs, it is only that brace.
func (k *Kind) Head() string {
	if k.Custom {
		return "{"
	}
	return `{"kind":"` + k.Kind + `","apiVersion":"` + k.GroupVersionKind().GroupVersion().String() + `",`
}
