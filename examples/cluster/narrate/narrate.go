// Package narrate tells what several parts do, as lines for people, whether the parts are in this process or in others.
//
// # Usage
//
//	n := narrate.New(os.Stdout, slog.LevelInfo)
//	logger := n.Logger("scheduler")
//	err := narrate.Repeat(childsOutput, n.Logger("proxy"))
//
// A line has the seconds since the start, who tells it, what, and the attributes:
//
//	1.234  scheduler          bound pod=shop/web-x node=node1
//
// # Concurrency
//
// Everything is safe for concurrent use; lines come as a whole.
package narrate

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
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
func New(w io.Writer, level slog.Level) *Narrator { return &Narrator{level: level, began: time.Now(), w: w} }

// Logger returns the logger of a part.
func (n *Narrator) Logger(part string) *slog.Logger { return slog.New(handler{n: n, part: part}) }

// Say writes a text as it is, and a new line.
func (n *Narrator) Say(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	fmt.Fprintf(n.w, format+"\n", args...)
}

// tell writes a line.
func (n *Narrator) tell(part string, level slog.Level, message string, attrs []string) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%7.3f  %-17s  ", time.Since(n.began).Seconds(), part)
	if level > slog.LevelInfo {
		fmt.Fprintf(&b, "%s: ", strings.ToLower(level.String()))
	}
	b.WriteString(message)
	for _, a := range attrs {
		b.WriteString(" " + a)
	}
	b.WriteByte('\n')
	n.mu.Lock()
	defer n.mu.Unlock()
	_, _ = n.w.Write(b.Bytes())
}

// handler is the slog.Handler of a part.
type handler struct {
	n      *Narrator
	part   string
	prefix string
	attrs  []string
}

func (h handler) Enabled(_ context.Context, l slog.Level) bool { return l >= h.n.level }

func (h handler) Handle(_ context.Context, r slog.Record) error {
	attrs := slices.Clone(h.attrs)
	r.Attrs(func(a slog.Attr) bool {
		attrs = append(attrs, h.text(a))
		return true
	})
	h.n.tell(h.part, r.Level, r.Message, attrs)
	return nil
}

func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	h.attrs = slices.Clone(h.attrs)
	for _, a := range attrs {
		h.attrs = append(h.attrs, h.text(a))
	}
	return h
}

func (h handler) WithGroup(name string) slog.Handler {
	h.prefix += name + "."
	return h
}

func (h handler) text(a slog.Attr) string { return h.prefix + a.Key + "=" + quoted(a.Value.Resolve().String()) }

// quoted puts a value in quotes when it would be more than one word without.
func quoted(s string) string {
	if s == "" || strings.ContainsAny(s, " \"=\n\t") {
		return strconv.Quote(s)
	}
	return s
}

// Repeat tells what a slog.JSONHandler has written to r, until there is no more. What isn't of one is told as it is, as a
// warning.
func Repeat(r io.Reader, to *slog.Logger) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		repeat(lines.Bytes(), to)
	}
	return lines.Err()
}

func repeat(line []byte, to *slog.Logger) {
	var all map[string]any
	if err := json.Unmarshal(line, &all); err != nil {
		to.Warn(string(line))
		return
	}
	var level slog.Level
	_ = level.UnmarshalText([]byte(fmt.Sprint(all[slog.LevelKey]))) // what isn't one is Info
	message := fmt.Sprint(all[slog.MessageKey])
	for _, known := range []string{slog.TimeKey, slog.LevelKey, slog.MessageKey} {
		delete(all, known)
	}
	var attrs []slog.Attr
	for _, key := range slices.Sorted(maps.Keys(all)) {
		attrs = append(attrs, slog.Any(key, all[key]))
	}
	to.LogAttrs(context.Background(), level, message, attrs...)
}
