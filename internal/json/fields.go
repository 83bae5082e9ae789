package json

import (
	"encoding/binary"
	"reflect"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// field is a field of a struct, or of one embedded in it, that a key can name.
type field struct {
	name string
	// text is the key as it mostly stands in data, with quotes and colon. head holds its first
	// eight bytes, as far as mask goes, tail its last eight if there are so many.
	text             string
	head, mask, tail uint64
	// offset is where the field stands in its struct.
	offset uintptr
	// hops are the embedded pointers on the way to that, if any.
	hops []hop
	plan *plan
	// next is the place in the order behind the field.
	next int
	// quoted is true when the value is written in a string.
	quoted bool
	// direct is true when it is not, and there are no hops.
	direct bool
	// isText is true when it is direct and a string, follower where a state keeps what it expects.
	isText   bool
	follower int

	// index is the way to the field, as in [reflect.Value.FieldByIndex].
	index []int
	typ   reflect.Type
	// tagged is true when the name comes from the tag.
	tagged bool
	// hidden is true for an embedded struct that isn't exported: its methods can't be called.
	hidden bool
}

// hop is an embedded pointer, at offset in a struct, on the way to a field of what it points to.
type hop struct {
	offset uintptr
	typ    reflect.Type
	// sealed is true when it isn't exported, and can't be set.
	sealed bool
}

// locate finds the way to the field from a value of the struct type t.
func (f *field) locate(t reflect.Type) {
	sealed := false
	for _, i := range f.index {
		if t.Kind() == reflect.Pointer {
			f.hops = append(f.hops, hop{f.offset, t.Elem(), sealed})
			f.offset, t = 0, t.Elem()
		}
		sf := t.Field(i)
		f.offset, t, sealed = f.offset+sf.Offset, sf.Type, !sf.IsExported()
	}
}

// write sets the field's text.
func (f *field) write() {
	f.text = `"` + f.name + `":`
	n := len(f.text)
	f.head, f.mask = binary.LittleEndian.Uint64([]byte(f.text+"       ")), ^uint64(0)
	if n < 8 {
		f.mask = 1<<(8*n) - 1
		f.head &= f.mask
	} else {
		f.tail = binary.LittleEndian.Uint64([]byte(f.text[n-8:]))
	}
}

// beginsAt reports whether the head of the field's text stands in data at i.
func (f *field) beginsAt(data []byte, i int) bool {
	return i+8 <= len(data) && binary.LittleEndian.Uint64(data[i:])&f.mask == f.head
}

// endsAt reports whether the rest of a text that begins at i stands there, too.
func (f *field) endsAt(data []byte, i int) bool {
	n := len(f.text)
	return n <= 8 || i+n <= len(data) && binary.LittleEndian.Uint64(data[i+n-8:]) == f.tail &&
		(n <= 16 || string(data[i+8:i+n-8]) == f.text[8:n-8])
}

// guesses is how many fields that may be left out are tried before the table is.
const guesses = 4

// fieldSet finds fields by their key.
type fieldSet struct {
	// order holds them in the order of their indices, in which a server writes them, too.
	order []*field
	// table is open addressed by hash, and at most a quarter full.
	table []*field
	shift int
	// folded finds them by the key without regard to case.
	folded map[string]*field
	// slot is where a state keeps what it expects.
	slot int
}

// fieldsLocked returns the fields of the struct type t.
func (c *planCache) fieldsLocked(t reflect.Type) *fieldSet {
	fields := collect(t)
	size, shift := 4, 62
	for size < 4*len(fields) {
		size, shift = size*2, shift-1
	}
	set := &fieldSet{order: fields, table: make([]*field, size), shift: shift, folded: make(map[string]*field, len(fields)), slot: c.slotLocked()}
	for i, f := range fields {
		f.next = i + 1
		f.locate(t)
		f.write()
		f.direct = !f.quoted && f.hops == nil
		switch {
		case !f.hidden:
			f.plan = c.valueLocked(f.typ)
		case f.typ.Kind() == reflect.Pointer:
			f.plan = &plan{op: opPointer, typ: f.typ, size: f.typ.Size(), elem: c.kindLocked(f.typ.Elem()), sealed: true}
		default:
			f.plan = c.kindLocked(f.typ)
		}
		if f.isText = f.direct && f.plan.op == opString; f.isText {
			f.follower, c.texts = c.texts, c.texts+1
		}
		at := hash([]byte(f.name)) >> set.shift
		for set.table[at] != nil {
			at = (at + 1) % uint64(size)
		}
		set.table[at] = f
		if folded := string(fold(nil, []byte(f.name))); set.folded[folded] == nil {
			set.folded[folded] = f
		}
	}
	return set
}

// guess returns the field whose text stands in data at i if it is one of the next few in order.
func (fs *fieldSet) guess(data []byte, i, order int) *field {
	for _, f := range fs.order[order:min(order+guesses, len(fs.order))] {
		if f.beginsAt(data, i) && f.endsAt(data, i) {
			return f
		}
	}
	return nil
}

// find returns the field that key names, or nil.
func (fs *fieldSet) find(key []byte) *field {
	mask := uint64(len(fs.table) - 1)
	for at := hash(key) >> fs.shift; ; at++ {
		f := fs.table[at&mask]
		if f == nil {
			break
		}
		if f.name == string(key) {
			return f
		}
	}
	var buffer [maxInterned]byte
	return fs.folded[string(fold(buffer[:0], key))]
}

// hash mixes the length and the first, last and middle bytes of b. Names and short strings
// rarely share all.
func hash(b []byte) uint64 {
	const mix = 0x9E3779B97F4A7C15
	n := len(b)
	var h uint64
	switch {
	case n > 16:
		h = binary.LittleEndian.Uint64(b[n/2-4:])
		fallthrough
	case n >= 8:
		h = h*mix ^ binary.LittleEndian.Uint64(b)
		h = h*mix ^ binary.LittleEndian.Uint64(b[n-8:])
	case n >= 4:
		h = uint64(binary.LittleEndian.Uint32(b)) | uint64(binary.LittleEndian.Uint32(b[n-4:]))<<32
	case n > 0:
		h = uint64(b[0]) | uint64(b[n/2])<<8 | uint64(b[n-1])<<16
	}
	return (h*mix ^ uint64(n)) * mix
}

// fold appends key to out with each letter replaced by the least of those that differ from it
// in case alone.
func fold(out, key []byte) []byte {
	for i := 0; i < len(key); {
		r, size := rune(key[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRune(key[i:])
		}
		i += size
		switch {
		case 'a' <= r && r <= 'z':
			r -= 'a' - 'A'
		case r >= utf8.RuneSelf:
			least := r
			for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
				least = min(least, other)
			}
			r = least
		}
		out = utf8.AppendRune(out, r)
	}
	return out
}

// embedded is a struct on the way down, with the index of the field that it is.
type embedded struct {
	typ   reflect.Type
	index []int
	// twice is true when the type is embedded more than once at its level.
	twice bool
}

// collect returns the fields of t that keys can name, in the order of their indices. It goes
// down level by level: a name belongs to the highest level it is on, there to the one field
// that has it by a tag, or else the one that has it; when there are two, to none.
func collect(t reflect.Type) []*field {
	var fields []*field
	taken := map[string]bool{}
	seen := map[reflect.Type]bool{}
	for level := []embedded{{typ: t}}; len(level) > 0; {
		var found []*field
		var next []embedded
		for _, e := range level {
			if seen[e.typ] {
				continue
			}
			seen[e.typ] = true
			own, below := members(e)
			found = append(found, own...)
			if e.twice {
				found = append(found, own...)
			}
			next = merge(next, below)
		}
		fields = append(fields, dominant(found, taken)...)
		level = next
	}
	slices.SortFunc(fields, func(a, b *field) int { return slices.Compare(a.index, b.index) })
	return fields
}

// merge adds structs to those of the next level.
func merge(next, below []embedded) []embedded {
	for _, e := range below {
		if i := slices.IndexFunc(next, func(o embedded) bool { return o.typ == e.typ }); i >= 0 {
			next[i].twice = true
		} else {
			next = append(next, e)
		}
	}
	return next
}

// members returns the fields of a struct itself and the structs embedded in it.
func members(e embedded) (own []*field, below []embedded) {
	for i := range e.typ.NumField() {
		sf := e.typ.Field(i)
		target := sf.Type
		if target.Kind() == reflect.Pointer && (sf.Anonymous || target.Name() == "") {
			target = target.Elem()
		}
		isStruct := sf.Anonymous && target.Kind() == reflect.Struct
		tag := sf.Tag.Get("json")
		if !sf.IsExported() && !isStruct || tag == "-" {
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		if !validName(name) {
			name = ""
		}
		index := append(slices.Clone(e.index), i)
		if isStruct && name == "" {
			below = append(below, embedded{typ: target, index: index})
			continue
		}
		f := &field{name: name, index: index, typ: sf.Type, tagged: name != "", hidden: !sf.IsExported()}
		if name == "" {
			f.name = sf.Name
		}
		f.quoted = slices.Contains(strings.Split(options, ","), "string") && quotable(target.Kind())
		own = append(own, f)
	}
	return own, below
}

// dominant returns the fields that have their names to themselves, and takes all names.
func dominant(found []*field, taken map[string]bool) []*field {
	byName := map[string][]*field{}
	for _, f := range found {
		if !taken[f.name] {
			byName[f.name] = append(byName[f.name], f)
		}
	}
	var fields []*field
	for name, candidates := range byName {
		taken[name] = true
		tagged := slices.DeleteFunc(slices.Clone(candidates), func(f *field) bool { return !f.tagged })
		if len(tagged) > 0 {
			candidates = tagged
		}
		if len(candidates) == 1 {
			fields = append(fields, candidates[0])
		}
	}
	return fields
}

func quotable(k reflect.Kind) bool {
	return k >= reflect.Bool && k <= reflect.Float64 || k == reflect.String
}

// validName reports whether a tag's name can be used: letters, digits and most punctuation.
func validName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", r)
	})
}
