package reflector

import (
	"fmt"
	"time"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/internal/backoff"
)

// streamEnded takes the end of an initial stream that never reached its mark. What it
// delivered is no resume point, since the rest may be unsent.
func (m *machine) streamEnded(in input) effect {
	if m.unmarked == 0 {
		m.unmarkedSince = in.now.Add(-in.elapsed)
	}
	switch in.class {
	case classUnsupported:
		m.noStream = true
		return m.read(in)
	case classIdle:
		m.noStream = true
		return turn(m.read(in), "")
	case classDenied, classBusy:
		return m.fail(in, m.read(in), "")
	case classNetwork, classTimeout:
		if !in.heard {
			return m.fail(in, m.read(in), "")
		}
	}
	m.unmarked++
	fault := ""
	if in.class == classClean {
		fault = "the initial events ended without their end mark"
	}
	if m.unmarked >= unmarkedStreams || in.now.Sub(m.unmarkedSince) >= unmarkedTime {
		m.noStream = true
		return turn(m.read(in), fault)
	}
	return m.fail(in, m.read(in), fault)
}

// watchEnded takes the end of a live watch.
func (m *machine) watchEnded(in input) effect {
	brief := in.elapsed < shortWatch
	short := brief && !in.news
	first := m.fresh && brief
	m.proved(in, short)
	switch in.want {
	case wantList:
		return m.read(in)
	case wantLatest:
		return m.latest(listwatch.Rebuild)
	}
	// again pauses first when the list that the watch started from has led nowhere.
	again := func(then effect) effect {
		if first {
			return m.fail(in, then, "")
		}
		return turn(then, "")
	}
	switch in.class {
	case classClean, classIdle, classTimeout:
		if !short && !(first && in.gap) {
			return m.onward(in)
		}
		fault := ""
		if short && in.class == classClean {
			fault = fmt.Sprintf("the watch ended after %s without news", in.elapsed.Round(time.Millisecond))
		}
		if short && m.unwatchable(in) {
			return m.fail(in, m.read(in), fault)
		}
		return m.fail(in, m.onward(in), fault)
	case classExpired:
		return again(m.read(in))
	case classTooNew:
		return again(m.latest(listwatch.Rebuild))
	case classDrift:
		if brief {
			return m.fail(in, m.onward(in), "")
		}
		return turn(m.onward(in), "")
	case classBusy, classDenied:
		return m.fail(in, effect{do: doWatch}, "")
	}
	if in.event {
		return m.fail(in, m.read(in), "")
	}
	return m.watchFailed(in)
}

// watchFailed resumes from the position, unless it is the position that makes watches fail.
func (m *machine) watchFailed(in input) effect {
	switch in.class {
	case classBad, classUnsupported:
		if m.badAt == in.position {
			return m.fail(in, m.read(in), "")
		}
		m.badAt = in.position
	case classServer:
		if m.unwatchable(in) {
			return m.fail(in, m.read(in), "")
		}
	}
	return m.fail(in, effect{do: doWatch}, "")
}

// unwatchable notes that a watch was of no use, and reports whether none has been for so long that a
// list must do.
func (m *machine) unwatchable(in input) bool {
	if m.serverErrorsSince.IsZero() {
		m.serverErrorsSince = in.now
	}
	return m.o.ServerErrorsBeforeList >= 0 && in.now.Sub(m.serverErrorsSince) >= m.o.ServerErrorsBeforeList
}

// proved notes what the watch has shown, however it ended.
func (m *machine) proved(in input, short bool) {
	ended := in.class == classClean || in.class == classIdle || in.class == classTimeout
	switch {
	case in.heard:
		m.silent = 0
	case in.class == classTimeout && in.elapsed < silentTimeout:
	case ended && !short:
		m.silent++
	}
	if !short && (ended || in.moved) {
		m.serverErrorsSince = time.Time{}
	}
	if in.elapsed >= shortWatch && (ended || in.moved) {
		m.fresh = false
	}
	if !ended && in.class != classExpired && in.class != classTooNew {
		m.fresh = false // this failure is paused for, so an expiry behind it need not be
	}
	if in.moved && in.elapsed >= shortWatch {
		m.pause = backoff.State{}
	}
}

// onward is what follows an ordinary end.
func (m *machine) onward(in input) effect {
	switch {
	case in.gap:
		return m.read(in)
	case m.silent >= silentWatches:
		return effect{do: doProbe}
	}
	return effect{do: doWatch}
}
