package jsonstream

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

const (
	firstRead = 4 << 10  // the first buffer: most watches are idle
	mostRead  = 64 << 10 // the most that is read at once, which bounds a batch
	keepBytes = 1 << 20  // a buffer grown over this is given back after use
	holdBytes = 4 << 10  // the longest key, and the longest field of a value too large
	mostDepth = 10000    // as in encoding/json
	mostLimit = 1 << 40  // keeps sums of sizes in range
)

// SyntaxError is a stream that cannot be cut.
type SyntaxError struct {
	// Offset is the number of bytes before the fault.
	Offset int64
	// Message says what is wrong.
	Message string
}

// Error describes the fault.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("invalid JSON at byte %d: %s", e.Offset, e.Message)
}

// Scanner reads JSON values from a stream. After an error other than io.EOF it is of no use.
// It must not be used by several goroutines at once.
type Scanner struct {
	src    io.Reader
	before func() error
	limit  int64

	buf      []byte
	pos, end int   // unread: buf[pos:end]
	offset   int64 // of buf[0] in the stream
	err      error // what src has ended with

	cut  *Value
	mark int  // where the value being cut begins; -1: nothing is being kept
	odd  bool // a string with a control character was passed over
	// wanted is how many more fields end the search; 0 or less: all of the value is looked at.
	wanted int
	hold   int // where a key or a field begins that is needed beyond a read; -1: none
	depth  int
	// kinds has a bit for each open bracket of a value that is passed over: 1 for a brace.
	kinds [mostDepth/64 + 1]uint64
}

// New returns a scanner of src. A value of more than limit bytes is passed over, see
// [Value.TooLarge]. before is called before each read of src, when everything read so far has
// been used: the moment to hand on what was collected. Its error ends the scan as it is. It
// may be nil.
func New(src io.Reader, limit int64, before func() error) *Scanner {
	return &Scanner{src: src, before: before, limit: min(limit, mostLimit), mark: -1, hold: -1}
}

// Line returns what is in memory up to the next line break, without using it up; nil when there is
// none. It is lent as what is cut is.
func (s *Scanner) Line() []byte {
	if n := bytes.IndexByte(s.buf[s.pos:s.end], '\n'); n >= 0 {
		return s.buf[s.pos : s.pos+n : s.pos+n]
	}
	return nil
}

// Use uses up n bytes that Line has returned.
func (s *Scanner) Use(n int) { s.pos += n }

// Offset is the number of bytes that have been used.
func (s *Scanner) Offset() int64 { return s.offset + int64(s.pos) }

// Peek skips white space and returns the next byte without using it up. The end of the stream
// is io.EOF.
func (s *Scanner) Peek() (byte, error) {
	for {
		for s.pos < s.end {
			switch c := s.buf[s.pos]; c {
			case ' ', '\t', '\r', '\n':
				s.pos++
			default:
				return c, nil
			}
		}
		if err := s.fill(); err != nil {
			return 0, err
		}
	}
}

// Object reads an object and calls member at each value, which member must use up with one of
// the scanner's methods. The key is lent.
func (s *Scanner) Object(member func(key []byte) error) error {
	c, err := s.inside()
	if err != nil {
		return err
	}
	if c != '{' {
		return s.fault("an object was expected")
	}
	return s.object(nil, member)
}

// Array reads an array and calls element at each of its values, which element must use up.
func (s *Scanner) Array(element func() error) error {
	c, err := s.inside()
	if err != nil {
		return err
	}
	if c != '[' {
		return s.fault("an array was expected")
	}
	s.pos++
	for first := true; ; first = false {
		c, err := s.inside()
		switch {
		case err != nil:
			return err
		case c == ']' && first:
			s.pos++
			return nil
		}
		if err := element(); err != nil {
			return err
		}
		if done, err := s.separator(']'); done || err != nil {
			return err
		}
	}
}

// End makes sure that nothing but white space follows.
func (s *Scanner) End() error {
	switch _, err := s.Peek(); {
	case err == nil:
		return s.fault("more after the end")
	case !errors.Is(err, io.EOF):
		return err
	}
	return nil
}

// inside is Peek where the stream must not end.
func (s *Scanner) inside() (byte, error) {
	c, err := s.Peek()
	return c, unexpected(err)
}

// separator reads the comma, or the closing bracket: then done is true.
func (s *Scanner) separator(closing byte) (done bool, err error) {
	c, err := s.inside()
	switch {
	case err != nil:
		return false, err
	case c != ',' && c != closing:
		return false, s.fault("a comma or the closing bracket was expected")
	}
	s.pos++
	return c == closing, nil
}

// fill reads more. What mark and hold point at is kept, at another place. It never returns
// without having read something, unless with an error.
func (s *Scanner) fill() error {
	if s.err != nil {
		return s.err
	}
	if s.before != nil {
		if s.err = s.before(); s.err != nil {
			return s.err
		}
	}
	s.overflow()
	s.shift()
	room := s.buf[s.end:min(len(s.buf), s.end+mostRead)]
	for range 100 {
		n, err := s.src.Read(room)
		s.end += n
		s.err = err
		if n > 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
	s.err = io.ErrNoProgress
	return s.err
}

// overflow lets go of what has become too large to keep.
func (s *Scanner) overflow() {
	if s.mark >= 0 && int64(s.pos-s.mark) > s.limit {
		for i := range s.cut.fields {
			f := &s.cut.fields[i]
			switch {
			case !f.set:
			case f.to-f.from > holdBytes:
				*f = field{}
			default:
				f.copied = append([]byte(nil), s.buf[s.mark+f.from:s.mark+f.to]...)
			}
		}
		s.mark = -1
		s.cut.TooLarge = true
	}
	if s.mark < 0 && s.hold >= 0 && s.pos-s.hold > holdBytes {
		s.hold = -1
	}
}

// shift makes room at the end of the buffer.
func (s *Scanner) shift() {
	keep := s.pos
	if s.mark >= 0 {
		keep = s.mark
	}
	if s.hold >= 0 {
		keep = min(keep, s.hold)
	}
	kept := s.end - keep
	size := len(s.buf)
	switch {
	case size == 0:
		size = firstRead
	case size > keepBytes && kept < mostRead:
		size = mostRead * 2
	case s.end == size && size < mostRead:
		size *= 2 // the last read has filled it all: there is more traffic than it is made for
	default:
		// What is kept is within the limit, so this ends.
		for size-kept < min(size/4, mostRead) {
			size = min(size*2, int(s.limit)+2*mostRead)
		}
	}
	to := s.buf
	if size != len(s.buf) {
		to = make([]byte, size)
	}
	copy(to, s.buf[keep:s.end])
	s.buf = to
	s.offset += int64(keep)
	s.pos -= keep
	s.end = kept
	if s.mark >= 0 {
		s.mark -= keep
	}
	if s.hold >= 0 {
		s.hold -= keep
	}
}

func (s *Scanner) fault(message string) error {
	return &SyntaxError{Offset: s.Offset(), Message: message}
}

// unexpected turns the end of the stream into its end in the middle of something.
func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
