package jsonstream

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

// errEnough ends a search that has found all.
var errEnough = errors.New("enough")

// The functions below are for JSON that is known to be valid: of anything else they make something
// else, or panic.

// Head notes the fields that shape names in a value that is in memory, as [Scanner.Cut] does. Its
// Fields are parts of data.
func Head(data []byte, shape *Shape) (v Value, err error) {
	s := &Scanner{buf: data, end: len(data), err: io.EOF, limit: mostLimit, mark: -1, hold: -1}
	err = s.Cut(shape, &v)
	return v, err
}

// Glance notes n fields that shape names in the object that data begins with, and looks no further.
// It has s forget its stream, and reports whether there are as many. Data need not be valid.
func (s *Scanner) Glance(data []byte, shape *Shape, n int, v *Value) bool {
	s.buf, s.pos, s.end, s.err, s.limit = data, 0, len(data), io.EOF, mostLimit
	*v = Value{}
	s.cut, s.mark, s.hold, s.wanted = v, 0, -1, n
	err := s.value(shape)
	v.Bytes = data
	s.buf, s.cut, s.wanted = nil, nil, 0
	return err == errEnough
}

// Find returns the value that a path of keys leads to in valid, a part of it, or nil when there is
// none. Of several members of one key the first counts. It fails when the path leads through
// something that is neither an object nor null.
func Find(valid []byte, path ...string) ([]byte, error) {
	at := space(valid, 0)
	for n, name := range path {
		switch valid[at] {
		case '{':
		case 'n':
			return nil, nil
		default:
			return nil, fmt.Errorf("%q is no object", strings.Join(path[:n], "."))
		}
		found := false
		for at = space(valid, at+1); valid[at] == '"' && !found; {
			var key []byte
			key, at = member(valid, at)
			if found = string(key) == name; !found {
				at = comma(valid, behind(valid, at))
			}
		}
		if !found {
			return nil, nil
		}
	}
	return valid[at:behind(valid, at)], nil
}

// Compact returns valid without white space and without what without names, in memory of its own.
func Compact(valid []byte, without *Paths) []byte {
	out, _ := without.value(make([]byte, 0, len(valid)), valid, space(valid, 0))
	if cap(out)-len(out) > len(out)/8 {
		out = bytes.Clone(out)
	}
	return out
}

// value appends the value at i to out, and returns the place behind it.
func (p *Paths) value(out, b []byte, i int) ([]byte, int) {
	switch {
	case p == nil || b[i] != '{' && b[i] != '[':
		end := behind(b, i)
		return squeeze(out, b[i:end]), end
	case b[i] == '[':
		out = append(out, '[')
		for i = space(b, i+1); b[i] != ']'; i = comma(b, i) {
			if out[len(out)-1] != '[' {
				out = append(out, ',')
			}
			out, i = p.value(out, b, i)
		}
		return append(out, ']'), i + 1
	}
	out = append(out, '{')
	for i = space(b, i+1); b[i] != '}'; i = comma(b, i) {
		quoted := b[i:behind(b, i)]
		var key []byte
		key, i = member(b, i)
		next := p.Below(string(key))
		if next.Here() {
			i = behind(b, i)
			continue
		}
		if out[len(out)-1] != '{' {
			out = append(out, ',')
		}
		out = append(append(out, quoted...), ':')
		out, i = next.value(out, b, i)
	}
	return append(out, '}'), i + 1
}

// squeeze appends b without white space to out.
func squeeze(out, b []byte) []byte {
	from := 0
	for i := 0; i < len(b); {
		switch c := b[i]; {
		case c == '"':
			i = behind(b, i)
		case c <= ' ':
			out = append(out, b[from:i]...)
			i = space(b, i)
			from = i
		default:
			i++
		}
	}
	return append(out, b[from:]...)
}

// member returns the key at i, and the place of its value.
func member(b []byte, i int) (key []byte, at int) {
	end := behind(b, i)
	return lend(b[i:end]), space(b, space(b, end)+1)
}

// comma returns the place of the next element behind the one that ends at i, or of the bracket
// that closes.
func comma(b []byte, i int) int {
	if i = space(b, i); b[i] == ',' {
		i = space(b, i+1)
	}
	return i
}

// space returns the first place at i or behind where there is no white space.
func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// behind returns the place behind the value at i.
func behind(b []byte, i int) int {
	switch b[i] {
	case '"':
		return behindText(b, i)
	case '{', '[':
		return behindNested(b, i)
	}
	for i < len(b) && b[i] > ' ' && b[i] != ',' && b[i] != '}' && b[i] != ']' {
		i++
	}
	return i
}

func behindText(b []byte, i int) int {
	for i++; ; i += 2 {
		i += plainRun(b[i:])
		for b[i] != '"' && b[i] != '\\' {
			i++
		}
		if b[i] == '"' {
			return i + 1
		}
	}
}

func behindNested(b []byte, i int) int {
	for depth := 0; ; i++ {
		switch b[i] {
		case '"':
			i = behindText(b, i) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
}
