package reflector

import (
	"time"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/internal/backoff"
)

// The machine decides what a reflector does next. It is a value: step turns an input into the
// next machine and one effect, and touches nothing else. It has no clock, no chance, no
// goroutine and no object type; events never pass through it.

const (
	// shortWatch is how long a watch must live to be more than an attempt.
	shortWatch = time.Second
	// silentWatches is after how many watches without a sign of life the position is probed.
	silentWatches = 2
	// silentTimeout is how long a watch must last to count as one when it was the source that
	// gave up: shorter timeouts are of waiting for the answer and tell nothing of the server.
	silentTimeout = 10 * time.Second
	// unmarkedStreams and unmarkedTime bound the attempts to get an end mark.
	unmarkedStreams = 3
	unmarkedTime    = 30 * time.Second
)

type inputKind uint8

const (
	inStart     inputKind = iota
	inPage                // a list call has ended
	inSynced              // the end mark of the initial events has come
	inCommitted           // the sink took the snapshot, or failed to
	inEnded               // a watch call has ended
	inSlept               // the pause is over
	inQuit                // the context is done
)

// want is a list that something beside the loop asks for.
type want uint8

const (
	wantNothing want = iota
	wantList         // not older than the position
	wantLatest       // the latest: the server may have been restored
)

// input is what has happened.
type input struct {
	kind     inputKind
	now      time.Time
	chance   float64
	position string // the version that the sink has reached; "" before the first list
	floor    string // the version that lists must not be older than: the position or a newer one

	failure
	meta    listwatch.ListMeta // of a page; of a synced or committed snapshot its version
	elapsed time.Duration      // since before the request was sent
	heard   bool               // the watch delivered an event or a bookmark
	moved   bool               // the watch moved the position
	news    bool               // the watch moved it by an object, or completed a list
	gap     bool               // the watch has lost something behind the position
	want    want

	op  string // for the report: step looks at neither
	err error
}

type action uint8

const (
	doStop   action = iota
	doSleep         // pause for delay
	doStream        // begin a snapshot, read it as initial events
	doList          // read a page, of a new snapshot when token is empty
	doCommit        // commit the snapshot at version
	doResume        // go on with the call that delivered the end mark
	doWatch         // watch from the position
	doProbe         // ask whether the server still knows the position
)

// effect is what is to be done about it.
type effect struct {
	do      action
	list    plan
	version string
	delay   time.Duration
	failed  bool   // the input was a failure: count and report it
	fault   string // what was wrong when the input has no error of its own
}

// plan is a list in progress.
type plan struct {
	mode    listwatch.Mode
	match   listwatch.Match
	version string // what match speaks of
	limit   int64
	token   string // of the next page
	listed  string // the version of the pages so far
	pages   int    // their number
	seen    string // the token at the last number that is a power of two: none comes again
}

func (p plan) clone() *plan { return &p }

type phase uint8

const (
	phaseNone phase = iota
	phaseStreaming
	phaseListing
	phaseWatching
	phaseProbing
	phaseStopped
)

type machine struct {
	o     *Options
	phase phase
	plan  *plan // of the list in progress; what it points to is never changed
	pause backoff.State
	// then is what follows the pause; nil when there is none.
	then *effect
	// noStream: the source does not offer initial events, or does not end them.
	noStream bool
	// unmarked counts the initial streams that ended before their mark, since the first.
	unmarked      int
	unmarkedSince time.Time
	// unpaged: pages did not make up one list, so they can't be trusted.
	unpaged bool
	// fresh: no watch has proved itself since the last list. Keeps list and watch from
	// sending each other round without a pause.
	fresh bool
	// silent counts the watches in a row that ended without a sign of life.
	silent int
	// badAt is where the last answer that could not be taken was met.
	badAt string
	// serverErrorsSince is when the present run of server errors, or of watches that end at once
	// without news, began.
	serverErrorsSince time.Time
}

// step is the whole of the state machine.
func (m machine) step(in input) (machine, effect) {
	e := m.next(in)
	if e.do != doSleep {
		m.then = nil
	}
	switch e.do {
	case doStop:
		m.phase = phaseStopped
	case doStream:
		m.phase = phaseStreaming
		m.plan = e.list.clone()
	case doList:
		m.phase = phaseListing
		m.plan = e.list.clone()
	case doWatch, doResume:
		m.phase = phaseWatching
		m.plan = nil
	case doProbe:
		m.phase = phaseProbing
	}
	return m, e
}

func (m *machine) next(in input) effect {
	switch in.kind {
	case inStart:
		return m.read(in)
	case inSlept:
		return *m.then
	case inSynced:
		return effect{do: doCommit, version: in.meta.ResourceVersion}
	case inCommitted:
		return m.committed(in)
	case inPage:
		if m.phase == phaseProbing {
			return m.probed(in)
		}
		return m.page(in)
	case inEnded:
		if m.phase == phaseStreaming {
			return m.streamEnded(in)
		}
		return m.watchEnded(in)
	}
	return effect{do: doStop}
}

// read reads the collection: the first time by the chosen way, later not older than the position.
func (m *machine) read(in input) effect {
	p := plan{mode: listwatch.Rebuild, limit: m.o.PageSize}
	switch {
	case in.position != "":
		p.match, p.version = listwatch.MatchNotOlder, in.floor
	case m.o.FirstList == FirstStream && !m.noStream:
		return effect{do: doStream, list: p}
	case m.o.FirstList == FirstAny:
		p.match, p.version = listwatch.MatchNotOlder, "0"
	case p.limit == 0:
		p.limit = firstPage
	}
	return m.list(p)
}

// latest reads the latest state.
func (m *machine) latest(mode listwatch.Mode) effect {
	return m.list(plan{mode: mode, match: listwatch.MatchLatest, limit: m.o.PageSize})
}

// whole reads the list in progress once more from its beginning, in one piece.
func (m *machine) whole() effect {
	p := *m.plan
	p.limit, p.token, p.listed, p.pages, p.seen = 0, "", "", 0, ""
	return effect{do: doList, list: p}
}

func (m *machine) list(p plan) effect {
	if m.unpaged {
		p.limit = 0
	}
	return effect{do: doList, list: p}
}

// fail pauses before then.
func (m *machine) fail(in input, then effect, fault string) effect {
	var delay time.Duration
	m.pause, delay = m.o.pause().Next(m.pause, in.now, in.chance)
	m.then = &then
	return effect{do: doSleep, delay: max(delay, in.hint), failed: true, fault: fault}
}

// turn goes to then at once, though something failed.
func turn(then effect, fault string) effect {
	then.failed, then.fault = true, fault
	return then
}

func (m *machine) committed(in input) effect {
	if in.class != classClean {
		return m.fail(in, m.read(in), "")
	}
	m.fresh, m.silent, m.unmarked, m.serverErrorsSince = true, 0, 0, time.Time{}
	if m.phase == phaseStreaming {
		return effect{do: doResume}
	}
	return effect{do: doWatch}
}

// older reports whether version a is known to be older than b.
func older(a, b string) bool { return listwatch.Newer(b, a) }

// newest returns the newer of two versions, of which one or both may be empty.
func newest(a, b string) string {
	if a == "" || listwatch.Newer(b, a) {
		return b
	}
	return a
}
