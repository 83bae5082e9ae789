// Package narrate tells what several parts do, as lines for people, whether the parts are in this process or in others.
//
// # Usage
//
//	n := narrate.New(os.Stdout, slog.LevelInfo)
//	logger := n.Logger("scheduler")
//
//	logger := narrate.Child(os.Stderr)                      // in another process
//	err := narrate.Repeat(childsOutput, n.Logger("proxy"))
//
// A line has the seconds since the start, who tells it, what, and the attributes:
//
//	1.234  scheduler          bound pod pod=shop/web-x node=node1
//
// # Guarantees
//
//  1. Lines come whole, with their attributes in order. (TestLines)
//  2. What a child logs is told as if it had been here. (TestRepeat)
//
// # Concurrency
//
// Everything is safe for concurrent use.
package narrate

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Narrator writes lines. Make one with [New].
type Narrator struct {
	level slog.Level
	began time.Time

	mu sync.Mutex
	w  io.Writer
}

// New returns a narrator that writes what is at the level or above to w. Errors of w are dropped.
func New(w io.Writer, level slog.Level) *Narrator {
	return &Narrator{level: level, began: time.Now(), w: w}
}

// Say writes a line as it is.
func (n *Narrator) Say(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	fmt.Fprintf(n.w, format+"\n", args...)
}

// Logger returns the logger of a part.
func (n *Narrator) Logger(part string) *slog.Logger {
	return slog.New(handler{level: n.level, tell: func(level slog.Level, text string) {
		if level > slog.LevelInfo {
			text = strings.ToLower(level.String()) + ": " + text
		}
		n.Say("%7.3f  %-17s  %s", time.Since(n.began).Seconds(), part, text)
	}})
}

// handler is the slog.Handler of a part. It tells lines without their end.
type handler struct {
	level        slog.Level
	tell         func(slog.Level, string)
	group, attrs string
}

// Enabled tells whether a level is high enough.
func (h handler) Enabled(_ context.Context, l slog.Level) bool { return l >= h.level }

// Handle tells a line.
func (h handler) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		h.add(a)
		return true
	})
	h.tell(r.Level, strings.ReplaceAll(r.Message, "\n", " ")+h.attrs)
	return nil
}

// WithAttrs returns a handler with further attributes in each line.
func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	for _, a := range attrs {
		h.add(a)
	}
	return h
}

// WithGroup returns a handler that puts a name before those of attributes.
func (h handler) WithGroup(name string) slog.Handler {
	h.group += name + "."
	return h
}

func (h *handler) add(a slog.Attr) {
	value := a.Value.Resolve().String()
	if value == "" || strings.ContainsAny(value, " \"=\n\t") {
		value = strconv.Quote(value)
	}
	h.attrs += " " + h.group + a.Key + "=" + value
}
