package reflector

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed3bce33ad/listwatch"
)

// quiet is how long a watch of a collection without changes may be silent: servers send a bookmark
// about every minute.
const quiet = 2 * time.Minute

// ledger keeps the position and what Health tells.
type ledger struct {
	// refusals is len(refused), to be looked at without the lock.
	refusals atomic.Int64

	mu sync.Mutex // guards all below
	v  vitals
	// refused holds refusals by key, each with the number of the note.
	refused map[listwatch.Key]refusal
	notes   uint64
	// more: there are refusals that are not in refused.
	more bool
	// told holds the gaps that were reported, at most MaxRefused.
	told map[gapID]struct{}
	gap  gap
	// tell tells the sink whether there is a gap.
	tell func(open bool)
	// heard: a watch has delivered something since the last complete list; sign is when it last
	// did, or when a list took its place.
	heard bool
	sign  time.Time
	// put is the newest version that the list in progress has brought, seen that of everything
	// else: the store may hold states that are newer than the position, out of lists that were
	// given up, and of sources whose events do not all move it.
	put, seen string
}

// vitals are what Health tells under the same names. They are smaller, and while nothing has failed
// there is no room for failures.
type vitals struct {
	state                                                       State
	synced                                                      bool
	since, connectedSince, lastEvent, lastProgress, nextRetry   time.Time
	position                                                    string
	failure                                                     *lastError // nil: none
	failures                                                    int
	lists, watches, probes, compares, gaps, restores, abandoned uint64
}

type lastError struct {
	err, class error
	time       time.Time
}

type refusal struct {
	Refusal
	note uint64
}

// gapID tells one gap from another. What went back at one position is one gap: a source that begins
// anew repeats all it has.
type gapID struct {
	key     listwatch.Key
	version string
	back    bool
}

// gap is what a watch lost since the last complete list. It is behind the position once every
// lost version is: only then can a list beside the watch repair it.
type gap struct {
	open bool
	// version is the newest lost version that is known.
	version string
	// moves is how often the position must still move for the lost versions that are not
	// known: twice, since a source may refuse an event before it delivers those that came
	// earlier in the same read.
	moves int
	// losses tells one gap from another.
	losses uint64
}

func (l *ledger) health() Health {
	l.mu.Lock()
	defer l.mu.Unlock()
	v := &l.v
	h := Health{
		State: v.state, Since: v.since, Synced: v.synced, Position: v.position, ConnectedSince: v.connectedSince,
		LastEvent: v.lastEvent, LastProgress: v.lastProgress, Failures: v.failures, NextRetry: v.nextRetry,
		Lists: v.lists, Watches: v.watches, Probes: v.probes, Compares: v.compares,
		Gaps: v.gaps, Gap: l.gap.open, Restores: v.restores, Abandoned: v.abandoned,
	}
	if f := v.failure; f != nil {
		h.LastError, h.LastErrorClass, h.LastErrorTime = f.err, f.class, f.time
	}
	for _, r := range l.refused {
		h.Refused = append(h.Refused, r.Refusal)
	}
	return h
}

func (l *ledger) position() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.v.position
}

func (l *ledger) enter(s State, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.v.state != s {
		l.v.state, l.v.since = s, now
	}
	l.v.nextRetry, l.v.connectedSince = time.Time{}, time.Time{}
}

// count applies f to the vitals, for the fields that are simple to keep.
func (l *ledger) count(f func(*vitals)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f(&l.v)
}

func (l *ledger) failed(err error, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.v.failure = &lastError{err: err, class: sentinelOf(err), time: now}
	l.v.failures++
}

// listing notes that a list begins.
func (l *ledger) listing() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.v.lists++
	l.absorbLocked()
}

// absorbLocked adds what the list has brought that was in progress.
func (l *ledger) absorbLocked() {
	l.put, l.seen = "", newest(l.seen, l.put)
}

// brought notes the newest version of what a list has brought.
func (l *ledger) brought(version string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.put = newest(l.put, version)
}

// sees notes that an event without a position has brought a state of that version.
func (l *ledger) sees(version string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen = newest(l.seen, version)
}

// floor returns the version that a list must not be older than: the position, or that of the newest
// state that was brought other than by the list in progress.
func (l *ledger) floor() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return newest(l.v.position, l.seen)
}

// progress notes that a page was taken.
func (l *ledger) progress(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.v.lastProgress = now
}

// committed notes a complete list. Gaps from before it are repaired. What was refused up to note
// is no longer refused, unless it can be newer than the list.
func (l *ledger) committed(version string, mode listwatch.Mode, note uint64, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dropRefusedLocked(version, mode, note)
	l.v.lastProgress, l.heard = now, false
	defer func() { l.tell(l.gap.open) }()
	if mode == listwatch.Compare {
		return
	}
	l.sign = now
	if mode == listwatch.Reset {
		l.seen = ""
	}
	l.absorbLocked()
	l.v.failures = 0
	l.v.position, l.v.synced = version, true
	l.gap = gap{losses: l.gap.losses}
	if mode == listwatch.Reset {
		l.v.restores++
		clear(l.told)
	}
}

// taken notes a batch that the sink has taken. It reports whether the position moved, and
// whether it has passed the gap by that.
func (l *ledger) taken(position string, objects bool, now time.Time) (moved, passed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.v.lastProgress, l.v.failures, l.heard, l.sign = now, 0, true, now
	if objects {
		l.v.lastEvent = now
	}
	if position == l.v.position {
		return false, false
	}
	before := l.passedLocked()
	l.v.position = position
	l.gap.moves = max(0, l.gap.moves-1)
	return true, l.gap.open && !before && l.passedLocked()
}

// alive reports whether a watch has delivered something since the last complete list, or may yet.
// What a list shows beyond the position may be left to such a watch only.
func (l *ledger) alive(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.heard || now.Sub(l.sign) < quiet
}

func (l *ledger) passedLocked() bool {
	return l.gap.moves == 0 && !older(l.v.position, l.gap.version)
}

// lose notes a gap and reports whether it is a new one, and whether the position has passed it: then
// there is nothing to wait for.
func (l *ledger) lose(h listwatch.Head, back bool) (news, passed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	version := h.ResourceVersion
	id := gapID{key: h.Key, version: version}
	if version == "" {
		id.version = l.v.position
		l.gap.moves = 2
	} else if l.gap.version == "" || older(l.gap.version, version) {
		l.gap.version = version
	}
	if back {
		id = gapID{version: l.v.position, back: true}
	}
	if !l.gap.open {
		l.tell(true)
	}
	l.gap.open = true
	l.gap.losses++
	passed = l.passedLocked()
	if _, told := l.told[id]; told {
		return false, passed
	}
	if l.told == nil || len(l.told) >= MaxRefused {
		l.told = make(map[gapID]struct{})
	}
	l.told[id] = struct{}{}
	l.v.gaps++
	return true, passed
}

// lost returns the gap, and whether the position has passed it.
func (l *ledger) lost() (g gap, passed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.gap, l.passedLocked()
}

// mend forgets the gap unless more was lost meanwhile.
func (l *ledger) mend(g gap) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gap.losses == g.losses {
		l.gap = gap{losses: g.losses}
	}
}

func (l *ledger) refuse(h listwatch.Head, reason error, now time.Time) (news bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	old, again := l.refused[h.Key]
	if !again && len(l.refused) >= MaxRefused {
		news = !l.more
		l.more = true
		return news
	}
	if l.refused == nil {
		l.refused = make(map[listwatch.Key]refusal)
	}
	l.notes++
	l.refused[h.Key] = refusal{note: l.notes, Refusal: Refusal{Key: h.Key, ResourceVersion: h.ResourceVersion, Reason: reason, Time: now}}
	l.refusals.Store(int64(len(l.refused)))
	return !again || old.ResourceVersion != h.ResourceVersion
}

// note returns the number of the last refusal.
func (l *ledger) note() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.notes
}

// accept forgets the refusal of a key, of which a watch has delivered that version. An object may
// have been refused before what came earlier in the same read is delivered.
func (l *ledger) accept(k listwatch.Key, version string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r, refused := l.refused[k]
	if !refused || older(version, r.ResourceVersion) || r.ResourceVersion == "" && l.gap.open {
		return
	}
	delete(l.refused, k)
	l.refusals.Store(int64(len(l.refused)))
}

func (l *ledger) dropRefusedLocked(version string, mode listwatch.Mode, note uint64) {
	for k, r := range l.refused {
		switch {
		case r.note > note:
		case mode != listwatch.Reset && older(version, r.ResourceVersion):
		case mode == listwatch.Compare && r.ResourceVersion == "" && l.gap.open:
		default:
			delete(l.refused, k)
		}
	}
	l.more = l.more && len(l.refused) >= MaxRefused
	l.refusals.Store(int64(len(l.refused)))
}
