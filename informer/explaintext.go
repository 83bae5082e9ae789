package informer

import (
	"fmt"
	"strings"
	"time"
)

// String returns the explanation as lines, one a station. Times are relative to Time.
func (e Explanation) String() string {
	var b strings.Builder
	line := func(station, format string, args ...any) {
		fmt.Fprintf(&b, "%-8s  %s\n", station, fmt.Sprintf(format, args...))
	}
	fmt.Fprintf(&b, "%s in informer %s at %s\n", e.Key, e.Informer, e.Time.UTC().Format(time.RFC3339))
	line("source", "%s", e.sourceText())
	if r := e.Source.Refused; r != nil {
		line("refused", "version %s %s: %s", orNone(r.ResourceVersion), e.ago(r.Time), r.Reason)
	} else if e.Source.More {
		line("refused", "too many objects to name them all: perhaps this one, too")
	}
	line("reading", "%s", e.readingText())
	line("store", "%s", e.storeText())
	for _, h := range e.Handlers {
		line("handler", "%s", h.text())
	}
	for _, q := range e.Queues {
		line("work", "%s: %s", q.Name, e.workText(q))
	}
	return b.String()
}

func (e *Explanation) sourceText() string {
	s := e.Source
	parts := []string{s.State.String()}
	if !s.Since.IsZero() {
		parts[0] += " since " + e.ago(s.Since)
	}
	parts = append(parts, "position "+orNone(s.Position))
	if !s.Synced {
		parts = append(parts, "first list not complete")
	}
	if !s.LastProgress.IsZero() {
		parts = append(parts, "last progress "+e.ago(s.LastProgress))
	}
	if s.Failures > 0 {
		parts = append(parts, count(s.Failures, "failure")+": "+s.LastError)
	}
	if !s.NextRetry.IsZero() {
		parts = append(parts, "next attempt "+e.ago(s.NextRetry))
	}
	return strings.Join(parts, ", ")
}

func (e *Explanation) readingText() string {
	var parts []string
	for _, part := range []struct {
		n    int
		what string
	}{{e.Reading.InFlight, "being stored"}, {e.Reading.Queued, "queued"}} {
		if part.n > 0 {
			parts = append(parts, count(part.n, "change")+" "+part.what)
		}
	}
	for _, d := range append(e.Reading.Processed, e.Reading.Deltas...) {
		parts = append(parts, fmt.Sprintf("%s at %s", d.Type, orNone(d.Head.ResourceVersion)))
	}
	if e.Reading.Before > 0 {
		parts = append(parts, "behind "+count(e.Reading.Before, "key"))
	}
	if e.Reading.Unswept {
		parts = append(parts, "missing in the last list: deleted unless the watch explains it")
	}
	if parts == nil {
		return "nothing waits"
	}
	return strings.Join(parts, ", ")
}

func (e *Explanation) storeText() string {
	text := "nothing held"
	if e.Store.Held {
		text = "holds version " + orNone(e.Store.ResourceVersion)
		if e.Store.UID != "" {
			text += ", uid " + e.Store.UID
		}
		text += fmt.Sprintf(", seen by list %d", e.Store.Mark)
	}
	for _, index := range e.Store.Indexes {
		text += fmt.Sprintf(", index %s %q", index.Name, index.Values)
	}
	return text + ", store at " + orNone(e.Store.Version)
}

func (h *ExplainedHandler) text() string {
	parts := []string{h.Name + ": told " + orNone(h.Told.ResourceVersion)}
	if h.InCall > 0 {
		parts = append(parts, count(h.InCall, "change")+" in the batch being told")
	}
	if h.Waiting > 0 {
		parts = append(parts, count(h.Waiting, "change")+" waiting")
	}
	for _, c := range h.Changes {
		parts = append(parts, fmt.Sprintf("%s to %s", c.Type, orNone(c.Head.ResourceVersion)))
	}
	if h.InCall+h.Waiting == 0 {
		parts = append(parts, "up to date")
	}
	if h.Behind {
		parts = append(parts, "too slow, changes are folded")
	}
	if !h.Synced {
		parts = append(parts, "not synced")
	}
	if h.Panics > 0 {
		parts = append(parts, fmt.Sprintf("%d panics so far", h.Panics))
	}
	return strings.Join(parts, ", ")
}

func (e *Explanation) workText(q ExplainedQueue) string {
	parts := []string{"not held"}
	if q.Held {
		parts[0] = q.State.String() + " since " + e.ago(q.Since)
		if q.Again {
			parts = append(parts, "added again")
		}
	}
	if !q.Due.IsZero() {
		parts = append(parts, "due "+e.ago(q.Due))
	}
	if q.Priority != 0 {
		parts = append(parts, fmt.Sprintf("priority %d", q.Priority))
	}
	if q.Flow != "" {
		parts = append(parts, "flow "+q.Flow)
	}
	if q.Failures > 0 {
		parts = append(parts, count(q.Failures, "failure"))
	}
	return strings.Join(parts, ", ")
}

// ago tells a time relative to that of the explanation.
func (e *Explanation) ago(t time.Time) string { return relative(t, e.Time) }

// relative tells a time relative to now, in three digits or so.
func relative(t, now time.Time) string {
	d := now.Sub(t)
	switch {
	case d < 0:
		return "in " + rounded(-d).String()
	case d < time.Millisecond:
		return "now"
	}
	return rounded(d).String() + " ago"
}

// rounded leaves out what does not matter in a duration of that length.
func rounded(d time.Duration) time.Duration {
	switch {
	case d >= time.Minute:
		return d.Round(time.Second)
	case d >= time.Second:
		return d.Round(100 * time.Millisecond)
	}
	return d.Round(time.Millisecond)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
