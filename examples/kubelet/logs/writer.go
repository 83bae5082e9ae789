package logs

import (
	"bytes"
	"errors"
	"io"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// stampFormat is how times stand before lines.
const stampFormat = "2006-01-02T15:04:05.000000000Z07:00"

// writer writes the lines that are wanted.
type writer struct {
	to      io.Writer
	options corev1.PodLogOptions
	since   time.Time
	// left is how many bytes may still be written. Negative: any number.
	left int64
	// whole is true when what was written last was the end of a line.
	whole bool
}

// line writes a line, or a part of one.
func (w *writer) line(l line) error {
	if l.at.Before(w.since) {
		return nil
	}
	text := l.text
	if l.partial {
		text = bytes.TrimSuffix(text, []byte("\n"))
	}
	if w.options.Timestamps && w.whole && !l.rest {
		if err := w.write([]byte(l.at.Format(stampFormat) + " ")); err != nil {
			return err
		}
	}
	w.whole = bytes.HasSuffix(text, []byte("\n"))
	return w.write(text)
}

func (w *writer) write(data []byte) error {
	if w.left >= 0 {
		data = data[:min(int64(len(data)), w.left)]
		w.left -= int64(len(data))
	}
	if _, err := w.to.Write(data); err != nil {
		return err
	}
	if w.left == 0 {
		return errLimit
	}
	return nil
}

// tail returns where the last n lines of a file begin. It reads no more than these, in blocks.
func tail(file *os.File, n int64) (int64, error) {
	at, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, err
	}
	found := int64(-1) // the end of the last line is none between two
	if at > 0 {
		last := make([]byte, 1)
		if _, err := file.ReadAt(last, at-1); err != nil {
			return 0, err
		}
		if last[0] != '\n' {
			found = 0
		}
	}
	for block := make([]byte, lineBytes); at > 0; {
		size := min(at, int64(len(block)))
		if _, err := file.ReadAt(block[:size], at-size); err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		for end := int(size); ; {
			i := bytes.LastIndexByte(block[:end], '\n')
			if i < 0 {
				break
			}
			if found++; found == n {
				return at - size + int64(i) + 1, nil
			}
			end = i
		}
		at -= size
	}
	return 0, nil
}
