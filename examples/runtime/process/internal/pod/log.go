//go:build linux

package pod

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// maxLine is how much of a line is one entry of a log; a longer one is several, all but the last partial.
const maxLine = 16 << 10

// logFile is the log of a container.
type logFile struct {
	mu   sync.Mutex
	file *os.File // guarded by mu
}

// openLog opens a log for appending, or one that forgets everything when there is no path.
func openLog(path string) (*logFile, error) {
	if path == "" {
		path = os.DevNull
	} else if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o640)
	return &logFile{file: file}, err
}

// Close closes the file.
func (l *logFile) Close() error { return l.file.Close() }

// copy writes what it reads as entries of a stream. What can't be written is dropped, so that the container goes on.
func (l *logFile) copy(stream string, from io.Reader) {
	r := bufio.NewReaderSize(from, maxLine)
	for {
		text, err := r.ReadSlice('\n')
		if len(text) > 0 {
			l.write(stream, text)
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

func (l *logFile) write(stream string, text []byte) {
	tag := "P"
	if text[len(text)-1] == '\n' {
		tag, text = "F", text[:len(text)-1]
	}
	entry := time.Now().AppendFormat(nil, "2006-01-02T15:04:05.000000000Z07:00")
	for _, part := range []string{" ", stream, " ", tag, " "} {
		entry = append(entry, part...)
	}
	entry = append(append(entry, text...), '\n')
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = l.file.Write(entry)
}
