package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed3bce33ad/listwatch/examples/e2e/pair"
)

// row is what one phase has shown.
type row struct {
	name           string
	writes, failed int64
	ours, theirs   pair.Counts
	recovered      [2]recovery // ours, theirs
	notes          []string
}

// recovery is how long the slowest cache of one side took to be whole again.
type recovery struct {
	took    map[string]time.Duration // by pair
	missing []string                 // pairs that were not, within the patience
	wrong   []string                 // pairs that held something else at rest
}

// slowest returns the pair that took longest.
func (r recovery) slowest(but ...string) (name string, took time.Duration) {
	for n, d := range r.took {
		if d > took && !slices.Contains(but, n) {
			name, took = n, d
		}
	}
	return name, took
}

func (r recovery) String() string {
	name, took := r.slowest()
	s := took.Round(10 * time.Millisecond).String()
	switch n := len(r.missing); {
	case n > 0:
		s = fmt.Sprintf("**%s not in %s**", r.some(r.missing), took.Round(time.Second))
	case took > time.Second && len(r.took) > 1:
		s += " (" + name + ")"
	}
	if len(r.wrong) > 0 {
		s += fmt.Sprintf("; **%s wrong**", r.some(r.wrong))
	}
	return s
}

func (r recovery) some(names []string) string {
	if len(names) == len(r.took) && len(names) > 1 {
		return fmt.Sprintf("all %d", len(names))
	}
	return strings.Join(names, ", ")
}

// report collects the rows of a run.
type report struct {
	mu    sync.Mutex
	head  []string // guarded by mu
	rows  []*row   // guarded by mu
	large []string // guarded by mu; rows of the large list's table
}

func (r *report) add(x *row) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rows = append(r.rows, x)
}

// String returns the report as markdown. In each column with two numbers the first is the library's.
func (r *report) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b strings.Builder
	for _, line := range r.head {
		fmt.Fprintf(&b, "- %s\n", line)
	}
	b.WriteString("\n| phase | writes (failed) | events | lists | watches | comparing lists | 410 | 401, 403 | recovery: listwatch | recovery: client-go | |\n" +
		"|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, x := range r.rows {
		fmt.Fprintf(&b, "| %s | %d (%d) | %d / %d | %d / %d | %d / %d | %d | %d | %d | %s | %s | %s |\n", x.name, x.writes, x.failed,
			x.ours.Events, x.theirs.Events, x.ours.Lists, x.theirs.Lists, x.ours.Watches, x.theirs.Watches,
			x.ours.Compares, x.ours.Expired, x.ours.Denied, x.recovered[0], x.recovered[1], strings.Join(x.notes, "; "))
	}
	if len(r.large) > 0 {
		b.WriteString("\n| large list | synced | CPU | retained heap | peak RSS |\n|---|---|---|---|---|\n")
		for _, line := range r.large {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// sum adds up the counts of several sides.
func sum(sides []pair.Side) pair.Counts {
	var s pair.Counts
	for _, side := range sides {
		c := side.Counts()
		s.Events += c.Events
		s.Lists += c.Lists
		s.Watches += c.Watches
		s.Compares += c.Compares
		s.Expired += c.Expired
		s.Denied += c.Denied
		s.Drift += c.Drift
		s.Gaps += c.Gaps
		s.Refused += c.Refused
		s.Restores += c.Restores
	}
	return s
}

// minus returns what was done since b.
func minus(a, b pair.Counts) pair.Counts {
	a.Events -= b.Events
	a.Lists -= b.Lists
	a.Watches -= b.Watches
	a.Compares -= b.Compares
	a.Expired -= b.Expired
	a.Denied -= b.Denied
	a.Restores -= b.Restores
	return a
}
