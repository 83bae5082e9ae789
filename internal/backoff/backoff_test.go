package backoff_test

import (
	"math"
	"testing"
	"time"

	"github.com/seed3bce33ad/listwatch/internal/backoff"
	"github.com/stretchr/testify/require"
)

var policy = backoff.Policy{Base: 800 * time.Millisecond, Max: 30 * time.Second, Reset: 2 * time.Minute, Jitter: 1}

func TestPausesDoubleUpToTheLimit(t *testing.T) {
	now := time.Unix(0, 0)
	var s backoff.State
	var pauses []time.Duration
	for range 9 {
		var pause time.Duration
		s, pause = policy.Next(s, now, 0)
		pauses = append(pauses, pause)
		now = now.Add(pause)
	}
	require.Equal(t, []time.Duration{
		800 * time.Millisecond, 1600 * time.Millisecond, 3200 * time.Millisecond, 6400 * time.Millisecond,
		12800 * time.Millisecond, 25600 * time.Millisecond, 30 * time.Second, 30 * time.Second, 30 * time.Second,
	}, pauses)
	require.Equal(t, 9, s.Failures())
}

func TestChanceAddsAtMostTheJitter(t *testing.T) {
	_, pause := policy.Next(backoff.State{}, time.Unix(0, 0), 0.5)
	require.Equal(t, 1200*time.Millisecond, pause)
	_, pause = policy.Next(backoff.State{}, time.Unix(0, 0), 0.999999)
	require.Less(t, pause, 1600*time.Millisecond)
}

// Slow failures are not quiet time: only what passes after the pause counts.
func TestQuietTimeResets(t *testing.T) {
	now := time.Unix(0, 0)
	s, first := policy.Next(backoff.State{}, now, 0)
	s, second := policy.Next(s, now.Add(first+policy.Reset-1), 0)
	require.Equal(t, 2*first, second)
	_, third := policy.Next(s, now.Add(first+policy.Reset-1+second+policy.Reset), 0)
	require.Equal(t, first, third)
}

func TestHugePolicyDoesNotOverflow(t *testing.T) {
	p := backoff.Policy{Base: time.Second, Max: math.MaxInt64, Reset: time.Hour, Jitter: 1}
	now, last := time.Unix(0, 0), time.Duration(0)
	var s backoff.State
	for range 200 {
		var pause time.Duration
		s, pause = p.Next(s, now, 0.5)
		require.GreaterOrEqual(t, pause, last)
		require.Positive(t, pause)
		last = min(pause, math.MaxInt64/2)
	}
}

func TestBaseOverMaxIsMax(t *testing.T) {
	p := backoff.Policy{Base: time.Minute, Max: time.Second}
	_, pause := p.Next(backoff.State{}, time.Unix(0, 0), 0.9)
	require.Equal(t, time.Second, pause)
}
