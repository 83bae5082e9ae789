package reflector

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A server that answers the same for ever is not asked round and round without a pause, whatever
// it answers to lists and to watches. A watch that brings news is no such answer.
func TestStubbornServerIsPausedFor(t *testing.T) {
	for first := range FirstAny + 1 {
		for listed := range classServer + 1 {
			for watched := range classServer + 1 {
				for flags := range 8 {
					requirePauses(t, first, listed, watched, flags)
				}
			}
		}
	}
}

func requirePauses(t *testing.T, first FirstList, listed, watched class, flags int) {
	m := started(phaseNone, plan{})
	m.o.FirstList = first
	in := input{kind: inStart, now: epoch}
	atOnce := 0
	for range 60 {
		var e effect
		m, e = m.step(in)
		position, now := in.position, in.now
		switch e.do {
		case doSleep:
			atOnce, now = 0, now.Add(e.delay)
			in = input{kind: inSlept}
		case doCommit:
			in = input{kind: inCommitted}
			position = e.version
		case doList, doProbe:
			atOnce++
			in = page("20", "", failure{class: listed})
		default:
			atOnce++
			in = watchEnd(watched, 0)
			in.event, in.heard, in.gap = flags&1 != 0, flags&2 != 0, flags&4 != 0
		}
		in.position, in.floor, in.now = position, position, now
		require.Less(t, atOnce, 9, "%s, lists end as %d, watches as %d, flags %b", first, listed, watched, flags)
	}
}
