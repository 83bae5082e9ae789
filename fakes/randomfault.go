package fakes

import (
	"math/rand/v2"
	"time"
)

// codes are the statuses that random faults come with; 0 is a broken connection.
var codes = []int{0, 0, 401, 403, 404, 410, 429, 429, 500, 503, 504}

// RandomFault returns a fault with sensible values, of one of the kinds given, or of any that
// a [Source] can do when none is. The same numbers make the same fault.
func RandomFault(rng *rand.Rand, kinds ...FaultKind) Fault {
	if len(kinds) == 0 {
		for _, k := range FaultKinds() {
			if k.OfSource() {
				kinds = append(kinds, k)
			}
		}
	}
	f := Fault{Kind: kinds[rng.IntN(len(kinds))]}
	seconds := func(most int) time.Duration { return time.Duration(1+rng.IntN(most)) * time.Second }
	verb := func() Verb { return []Verb{0, VerbList, VerbWatch}[rng.IntN(3)] }
	code := func() int { return codes[rng.IntN(len(codes))] }
	switch f.Kind {
	case FaultFail:
		f.Verb, f.Code, f.N = verb(), code(), 1+rng.IntN(4)
		f.Event = f.Verb == VerbWatch && f.Code != 0 && rng.IntN(2) == 0
		if f.Code == 429 || f.Code >= 500 {
			f.For = time.Duration(rng.IntN(10)) * time.Second
		}
	case FaultError:
		if f.Code = code(); f.Code != 0 && rng.IntN(3) == 0 {
			f.For = seconds(5)
		}
		f.N = rng.IntN(6)
	case FaultDown:
		f.Verb, f.Code, f.For = verb(), code(), seconds(90)
	case FaultHang:
		f.Verb, f.For = verb(), seconds(120)
	case FaultHalfOpen:
		f.Verb = verb()
	case FaultSlow:
		f.Verb, f.N, f.For = verb(), 1+rng.IntN(5), seconds(10)
	case FaultGarbage, FaultNameless, FaultWrongKind, FaultOversize:
		f.Verb, f.N = verb(), 1+rng.IntN(3)
	case FaultNoBookmarks:
		f.For = seconds(300)
	case FaultPartialList:
		f.Code, f.N = code(), rng.IntN(8)
	case FaultShortPages:
		f.N, f.For = rng.IntN(3), seconds(120)
	case FaultCut, FaultCompact:
		f.N = rng.IntN(10)
	case FaultLag:
		f.Verb, f.N, f.For = verb(), 1+rng.IntN(10), seconds(60)
	case FaultDrop, FaultUnknownEvent, FaultLateBookmark, FaultRepeatBookmark, FaultRepeatPage, FaultRestore:
		f.N = 1 + rng.IntN(5)
	case FaultJump:
		f.For = seconds(7200) - time.Hour
	default:
		f = randomWireFault(rng, f, verb, seconds)
	}
	return f
}

func randomWireFault(rng *rand.Rand, f Fault, verb func() Verb, seconds func(int) time.Duration) Fault {
	switch f.Kind {
	case FaultCutBytes, FaultGarbageBytes:
		f.Verb, f.N = verb(), rng.IntN(1<<(1+rng.IntN(14)))
	case FaultLateHeaders:
		f.Verb, f.N, f.For = verb(), 1+rng.IntN(3), seconds(10)
	case FaultGoAway:
		f.Verb, f.N = verb(), 1+rng.IntN(3)
	case FaultBlackHole:
		f.N, f.For = rng.IntN(2), seconds(120)
	case FaultReset:
		f.N = rng.IntN(2) * rng.IntN(1<<(1+rng.IntN(14)))
	case FaultRefuse:
		f.For = seconds(30)
	case FaultThrottle:
		f.N, f.For = 200+rng.IntN(10_000), seconds(30)
	}
	return f
}
