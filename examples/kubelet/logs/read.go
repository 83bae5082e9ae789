package logs

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/benbjohnson/clock"
	corev1 "k8s.io/api/core/v1"

	"github.com/seed3bce33ad/listwatch/internal/timing"
)

const (
	// lineBytes is how much of a line is held in memory.
	lineBytes = 64 << 10
	// headBytes is more than the time, the stream and the tag of a line have.
	headBytes = 64
	// pace is how often a log that is followed is looked at.
	pace = 100 * time.Millisecond
)

// errLimit ends a log when as much has been read as was wanted.
var errLimit = errors.New("logs: enough bytes")

// Source says more of a log.
type Source struct {
	// Running reports whether the container still writes; once it does not, it never does again. Nil: it does not.
	Running func() bool
	// Clock is the time. Defaults to the real one.
	Clock clock.Clock
}

// Read writes what the options select of the log at path to w. With Follow it blocks until the container does not run any
// more, or ctx is done, which is no error. A log that is not there yet is empty. w is flushed by nobody.
func Read(ctx context.Context, path string, o corev1.PodLogOptions, s Source, w io.Writer) error {
	s.Clock = timing.Or(s.Clock)
	file, err := open(ctx, path, o, s)
	if err != nil || file == nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read
	if o.TailLines != nil {
		at, err := tail(file, *o.TailLines)
		if err == nil {
			_, err = file.Seek(at, io.SeekStart)
		}
		if err != nil {
			return err
		}
	}
	out := &writer{to: w, options: o, left: -1, whole: true}
	if o.LimitBytes != nil {
		out.left = *o.LimitBytes
	}
	switch {
	case o.SinceTime != nil:
		out.since = o.SinceTime.Time
	case o.SinceSeconds != nil:
		out.since = s.Clock.Now().Add(-time.Duration(*o.SinceSeconds) * time.Second)
	}
	err = copyLines(ctx, &follower{ctx: ctx, file: file, follow: o.Follow, source: s}, out)
	if errors.Is(err, errLimit) || ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}

// open opens a log. One that is followed is waited for. It returns nil when there is none.
func open(ctx context.Context, path string, o corev1.PodLogOptions, s Source) (*os.File, error) {
	for {
		running := s.running()
		file, err := os.Open(path)
		if !errors.Is(err, os.ErrNotExist) {
			return file, err
		}
		if !o.Follow || !running || timing.Sleep(ctx, s.Clock, pace) != nil {
			return nil, nil
		}
	}
}

func (s Source) running() bool { return s.Running != nil && s.Running() }

// follower reads a file, and waits for more where it ends while its container runs.
type follower struct {
	ctx    context.Context
	file   *os.File
	follow bool
	source Source
}

// Read reads what comes next.
func (f *follower) Read(data []byte) (int, error) {
	for {
		// What was written before the container ended is in the file when it is said not to run.
		running := f.follow && f.source.running()
		n, err := f.file.Read(data)
		if n > 0 || !errors.Is(err, io.EOF) || !running {
			return n, err
		}
		if err := timing.Sleep(f.ctx, f.source.Clock, pace); err != nil {
			return 0, err
		}
	}
}

// copyLines takes lines apart until there are no more. The last one may lack its end.
func copyLines(ctx context.Context, from io.Reader, to *writer) error {
	lines := bufio.NewReaderSize(from, lineBytes)
	for ctx.Err() == nil {
		head, err := lines.ReadSlice('\n')
		if len(head) == 0 && err != nil {
			return end(err)
		}
		l, bad := parse(head)
		if bad != nil && errors.Is(err, io.EOF) {
			return nil // a line that is just being written
		}
		if bad != nil {
			return bad
		}
		for {
			if err := to.line(l); err != nil {
				return err
			}
			if err == nil {
				break
			}
			if !errors.Is(err, bufio.ErrBufferFull) {
				return end(err)
			}
			// The rest of a line that is longer than the buffer.
			l.text, err = lines.ReadSlice('\n')
			l.rest = true
		}
	}
	return ctx.Err()
}

func end(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// line is one of a log, or with rest what follows of one.
type line struct {
	at      time.Time
	partial bool
	text    []byte
	rest    bool
}

// parse takes the beginning of a line apart.
func parse(head []byte) (line, error) {
	parts := bytes.SplitN(head, []byte(" "), 4)
	if len(parts) < 4 {
		return line{}, fmt.Errorf("logs: %q is no line of a log", head[:min(len(head), headBytes)])
	}
	at, err := time.Parse(time.RFC3339Nano, string(parts[0]))
	if err != nil {
		return line{}, fmt.Errorf("logs: %q is no line of a log", head[:min(len(head), headBytes)])
	}
	tag, _, _ := bytes.Cut(parts[2], []byte(":"))
	return line{at: at, partial: string(tag) == "P", text: parts[3]}, nil
}
