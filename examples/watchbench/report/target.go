package report

import (
	"fmt"
	"math"
)

// Direction says which values are good.
type Direction bool

// The directions.
const (
	AtMost  Direction = false
	AtLeast Direction = true
)

// String returns the sign of the direction.
func (d Direction) String() string {
	if d == AtLeast {
		return "≥"
	}
	return "≤"
}

// Target is what a metric has to be: the ratio of the medians of one side and of a peer, or, without
// a peer, the median itself.
type Target struct {
	// Place is what is looked at.
	Place
	// Peer is the side that it is compared with; "" for none.
	Peer string
	// PeerName is the peer's name of the case, where it differs.
	PeerName string
	// Direction says how the bounds are meant.
	Direction Direction
	// Must is the bound that is enforced, Aim the one that is wanted, and Quick the one that is
	// enforced in a quick run. NaN: none.
	Must, Aim, Quick float64
}

// Verdict is how a target was met.
type Verdict struct {
	Target
	// Own and Other are the statistics of both sides.
	Own, Other Stat
	// Value is what is compared with the bound.
	Value float64
	// Bound is the one that was enforced.
	Bound float64
	// Missing says that there is no value.
	Missing bool
}

// Met reports whether the bound is met. Where there is no bound it is.
func (v Verdict) Met() bool { return math.IsNaN(v.Bound) || !v.Missing && v.meets(v.Bound) }

// Aimed reports whether what is wanted is met as well.
func (v Verdict) Aimed() bool { return !math.IsNaN(v.Aim) && !v.Missing && v.meets(v.Aim) }

func (v Verdict) meets(bound float64) bool {
	if v.Direction == AtLeast {
		return v.Value >= bound
	}
	return v.Value <= bound
}

// String says what was missed.
func (v Verdict) String() string {
	what := fmt.Sprintf("%s %s: %s of %s", v.Workload, v.Name, v.Metric, v.Side)
	if v.Peer != "" {
		what += " against " + v.Peer
	}
	if v.Missing {
		return what + ": not measured"
	}
	return fmt.Sprintf("%s: %.3g, and must be %s %.3g", what, v.Value, v.Direction, v.Bound)
}

// Judge compares a summary with the targets of the cases that ran.
func Judge(s *Summary, targets []Target, quick bool) []Verdict {
	ran := make(map[[2]string]bool)
	for _, p := range s.places {
		ran[[2]string{p.Workload, p.Name}] = true
	}
	var out []Verdict
	for _, t := range targets {
		if ran[[2]string{t.Workload, t.Name}] {
			out = append(out, judge(s, t, quick))
		}
	}
	return out
}

func judge(s *Summary, t Target, quick bool) Verdict {
	v := Verdict{Target: t, Bound: t.Must}
	if quick {
		v.Bound = t.Quick
	}
	own, ok := s.Get(t.Place)
	v.Own, v.Value, v.Missing = own, own.Median, !ok
	if t.Peer == "" || !ok {
		return v
	}
	peer := t.Place
	peer.Side = t.Peer
	if t.PeerName != "" {
		peer.Name = t.PeerName
	}
	v.Other, ok = s.Get(peer)
	v.Value, v.Missing = own.Median/v.Other.Median, !ok
	return v
}
