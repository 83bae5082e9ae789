package jsonstream_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch/internal/jsonstream"
)

// chunks are pieces of the lengths that a text gives, over and over.
type chunks struct {
	data, lengths []byte
	next          int
}

func (c *chunks) Read(b []byte) (int, error) {
	if len(c.data) == 0 {
		return 0, io.EOF
	}
	n := 1
	if len(c.lengths) > 0 {
		n += int(c.lengths[c.next%len(c.lengths)])
		c.next++
	}
	n = copy(b, c.data[:min(n, len(c.data))])
	c.data = c.data[n:]
	return n, nil
}

// cutAll tells all that is cut out of a stream, and how it ends.
func cutAll(r io.Reader, limit int64) (cut []string) {
	s := jsonstream.New(r, limit, nil)
	for {
		var v jsonstream.Value
		_, err := s.Peek()
		if err == nil {
			err = s.Cut(shape, &v)
		}
		var syntax *jsonstream.SyntaxError
		switch {
		case errors.As(err, &syntax):
			return append(cut, fmt.Sprint("broken: ", syntax.Message))
		case err != nil:
			return append(cut, err.Error())
		case v.TooLarge: // which of its fields are kept depends on the pieces
			cut = append(cut, fmt.Sprint("too large: ", v.Size, v.Bytes == nil))
		default:
			cut = append(cut, fmt.Sprintf("%d %s %q %q %q %q", v.Size, v.Bytes,
				v.Field(slotType), v.Field(slotObject), v.Field(slotKind), v.Field(slotName)))
		}
	}
}

const stream = ` {"type":"A\"","object":{"kind":"K","metadata":{"name":"n"},"spec":[1,{"a":"]}"}]}}` + "\n" +
	`{"object":null,"type":"B"}[1.5e3,"\u0041"] "text" true{"type":"\\"} `

// Values are cut the same wherever the reads of a stream fall.
func TestCutAcrossReads(t *testing.T) {
	want := cutAll(bytes.NewReader([]byte(stream)), 1000)
	require.Len(t, want, 7)
	require.Equal(t, "EOF", want[6])
	for length := range len(stream) {
		for first := range 20 {
			pieces := &chunks{data: []byte(stream), lengths: []byte{byte(length), byte(first)}}
			require.Equal(t, want, cutAll(pieces, 1000), "reads of %d and %d bytes", length+1, first+1)
		}
	}
}

// FuzzChunks: a stream is cut the same, to its end or to the same fault, in one piece and in any
// others.
func FuzzChunks(f *testing.F) {
	f.Add([]byte(stream), []byte{0, 3, 20}, uint16(1000))
	f.Add([]byte(stream), []byte{7}, uint16(30))
	f.Add([]byte(`{"type":"A","object":{"kind":"K"}]`), []byte{}, uint16(9))
	f.Add([]byte("{\"type\":\"a\nb\"} 5"), []byte{1}, uint16(99))
	f.Fuzz(func(t *testing.T, data, lengths []byte, limit uint16) {
		want := cutAll(bytes.NewReader(data), int64(limit)+1)
		require.Equal(t, want, cutAll(&chunks{data: data, lengths: lengths}, int64(limit)+1))
	})
}
