// Package backoff computes the pauses between attempts. It is pure: it owns no clock and no
// source of chance.
package backoff

import "time"

// Policy says how pauses grow.
type Policy struct {
	// Base is the first pause, before jitter.
	Base time.Duration
	// Max is the longest pause, before jitter.
	Max time.Duration
	// Reset is how long it must be quiet after a pause for the next one to be Base again.
	Reset time.Duration
	// Jitter is the largest part of a pause that chance adds to it: 1 doubles it at most.
	Jitter float64
}

// State is what a policy remembers of the failures so far. The zero value remembers none.
type State struct {
	failures int
	due      time.Time
}

// Failures returns how many failures in a row the state remembers.
func (s State) Failures() int { return s.failures }

// Next returns the pause after a failure at now and the state that remembers it. Chance is in
// [0, 1). Quiet time counts from the end of the last pause, so that attempts which are slow to
// fail don't look like success.
func (p Policy) Next(s State, now time.Time, chance float64) (State, time.Duration) {
	if s.failures > 0 && now.Sub(s.due) >= p.Reset {
		s = State{}
	}
	pause := min(p.Base, p.Max)
	for i := 0; i < s.failures && pause < p.Max; i++ {
		if pause > p.Max/2 {
			pause = p.Max
		} else {
			pause *= 2
		}
	}
	if extra := time.Duration(float64(pause) * p.Jitter * chance); pause+extra > pause {
		pause += extra
	}
	return State{failures: s.failures + 1, due: now.Add(pause)}, pause
}
