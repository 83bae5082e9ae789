package pack

import (
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
)

// What the first byte says of the rest.
const (
	asIs     = 0
	deflated = 1
)

// level is that from which on flate gains no more on objects of some kilobytes.
const level = 6

// MaxSample is how many bytes at the end of a sample are used: as far as DEFLATE looks back.
const MaxSample = 32 << 10

var errForm = errors.New("pack: not packed by Pack")

// Sample is a text that others resemble. Make one with [New].
type Sample struct {
	text    []byte
	writers sync.Pool // *writer
	readers sync.Pool // *reader
}

type writer struct {
	flate *flate.Writer
	out   bytes.Buffer
}

type reader struct {
	flate io.Reader
	in    strings.Reader
}

// New returns a sample of a copy of the text, which may be empty.
func New(text []byte) *Sample {
	return &Sample{text: bytes.Clone(text[max(0, len(text)-MaxSample):])}
}

// Pack returns the text in short, for [Sample.Unpack].
func (s *Sample) Pack(text []byte) string {
	w, _ := s.writers.Get().(*writer)
	if w == nil {
		w = new(writer)
		w.flate, _ = flate.NewWriterDict(&w.out, level, s.text) // fails for another level alone
	}
	w.out.Reset()
	w.out.WriteByte(deflated)
	w.flate.Reset(&w.out)
	_, err := w.flate.Write(text)
	err = errors.Join(err, w.flate.Close())
	if err != nil || w.out.Len() > len(text) { // a buffer gives no error
		w.out.Reset()
		w.out.WriteByte(asIs)
		w.out.Write(text)
	}
	packed := w.out.String()
	if w.out.Cap() <= keep {
		s.writers.Put(w)
	}
	return packed
}

// keep is the greatest buffer that is kept from call to call.
const keep = 1 << 20

// Unpack appends the text to into and returns the result.
func (s *Sample) Unpack(packed string, into []byte) ([]byte, error) {
	if packed == "" || packed[0] > deflated {
		return into, errForm
	}
	if packed[0] == asIs {
		return append(into, packed[1:]...), nil
	}
	r, _ := s.readers.Get().(*reader)
	if r == nil {
		r = new(reader)
		r.flate = flate.NewReaderDict(&r.in, s.text)
	}
	r.in.Reset(packed[1:])
	err := r.flate.(flate.Resetter).Reset(&r.in, s.text)
	for err == nil {
		if len(into) == cap(into) {
			into = append(into, 0)[:len(into)]
		}
		var n int
		n, err = r.flate.Read(into[len(into):cap(into)])
		into = into[:len(into)+n]
	}
	r.in.Reset("")
	s.readers.Put(r)
	if err != io.EOF {
		return into, fmt.Errorf("pack: %w", err)
	}
	return into, nil
}
