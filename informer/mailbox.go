package informer

import (
	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/indexer"
)

// pendingKind is what a mailbox holds for a key; see follow for how they succeed each other.
type pendingKind uint8

const (
	pendingAdd    pendingKind = iota + 1 // Add now
	pendingUpdate                        // Update old -> now
	pendingSync                          // Update now -> now, as a resync
	pendingDelete                        // Delete old, gone
	pendingSwap                          // Delete old, gone, then Add now: another identity
)

// pending is what one handler has not been told yet about one key.
type pending[T listwatch.Object] struct {
	key     listwatch.Key
	kind    pendingKind
	initial bool // of the Add
	unknown bool // of the Delete
	seq     uint64
	old     T // what the handler holds; none for pendingAdd
	gone    T // the last state of what was deleted
	now     T // the newest state; none for pendingDelete
	// held is what now is, and for pendingSync old, while it is not decoded; only those and pendingAdd
	// have one.
	held       *indexer.State[T]
	prev, next *pending[T]
}

// mailbox is the part of a handler's backlog that has left the shared log: a list in the order
// in which the keys became pending. Folding mailboxes hold one entry for each key.
type mailbox[T listwatch.Object] struct {
	fold        bool
	same        func(a, b T) bool
	byKey       map[listwatch.Key]*pending[T] // only when fold
	first, last *pending[T]
	len         int
	syncs       int // how many of the entries are pendingSync
}

// put takes a change with its number in the log.
func (m *mailbox[T]) put(c Change[T], seq uint64) {
	if m.fold {
		if held, ok := m.byKey[c.Key]; ok {
			if !m.follow(held, c) {
				m.remove(held)
			}
			return
		}
	}
	p := &pending[T]{key: c.Key, seq: seq, old: c.Old, unknown: c.Unknown, initial: c.Initial}
	switch {
	case c.Type == Add:
		p.kind, p.now = pendingAdd, c.Object
	case c.Type == Delete:
		p.kind, p.gone = pendingDelete, c.Object
	case c.Resync:
		p.kind, p.now = pendingSync, c.Object
	default:
		p.kind, p.now = pendingUpdate, c.Object
	}
	m.append(p)
}

// hold is put for a state of the store under a key that nothing is pending for: an initial add, or
// with Resync an update. It is decoded, if need be, when it is about to be told.
func (m *mailbox[T]) hold(c Change[T], s *indexer.State[T], seq uint64) {
	object, ok := s.Decoded()
	if c.Object = object; c.Resync {
		c.Old = object
	}
	m.put(c, seq)
	if !ok {
		m.last.held = s
	}
}

// cold returns those of the first n entries that are not decoded.
func (m *mailbox[T]) cold(n int) (entries []*pending[T]) {
	for p := m.first; p != nil && n > 0; p, n = p.next, n-1 {
		if p.held != nil {
			entries = append(entries, p)
		}
	}
	return entries
}

// warm gives p the object of its state.
func (p *pending[T]) warm(object T) {
	p.held, p.now = nil, object
	if p.kind == pendingSync {
		p.old = object
	}
}

// follow folds a change into what is pending for its key. It returns false when nothing is
// left to tell. The handler holds p.old, or nothing when p is an Add.
func (m *mailbox[T]) follow(p *pending[T], c Change[T]) bool {
	var zero T
	if p.held != nil && !c.Resync { // c.Old is that state
		p.warm(c.Old)
	}
	switch {
	case c.Resync: // adds nothing to what will be told anyway
	case c.Type == Delete && p.kind == pendingAdd:
		return false
	case c.Type == Delete && p.kind == pendingSwap: // the second life was never seen
		p.kind, p.now = pendingDelete, zero
	case c.Type == Delete:
		if p.kind == pendingSync {
			m.syncs--
		}
		p.kind, p.gone, p.now, p.unknown = pendingDelete, c.Object, zero, c.Unknown
	case c.Type == Add: // only after a delete
		p.kind, p.now, p.initial = pendingSwap, c.Object, c.Initial
		if m.same(p.gone, c.Object) {
			p.kind, p.gone, p.unknown = pendingUpdate, zero, false
		}
	case p.kind == pendingSync:
		p.kind, p.now = pendingUpdate, c.Object
		m.syncs--
	default:
		p.now = c.Object
	}
	return true
}

// take removes up to n entries from the front and appends what they tell to into. Entries
// whose number is beyond limit stay, and those from the first on that is not decoded.
func (m *mailbox[T]) take(into []Change[T], n int, limit uint64) []Change[T] {
	for ; n > 0 && m.first != nil && m.first.seq <= limit && m.first.held == nil; n-- {
		p := m.first
		m.remove(p)
		into = p.tell(into)
	}
	return into
}

// tell appends what p tells to into.
func (p *pending[T]) tell(into []Change[T]) []Change[T] {
	switch p.kind {
	case pendingAdd:
		into = append(into, Change[T]{Type: Add, Key: p.key, Object: p.now, Initial: p.initial})
	case pendingUpdate:
		into = append(into, Change[T]{Type: Update, Key: p.key, Object: p.now, Old: p.old})
	case pendingSync:
		into = append(into, Change[T]{Type: Update, Key: p.key, Object: p.now, Old: p.now, Resync: true})
	case pendingDelete:
		into = append(into, Change[T]{Type: Delete, Key: p.key, Object: p.gone, Old: p.old, Unknown: p.unknown})
	case pendingSwap:
		into = append(into,
			Change[T]{Type: Delete, Key: p.key, Object: p.gone, Old: p.old, Unknown: p.unknown},
			Change[T]{Type: Add, Key: p.key, Object: p.now, Initial: p.initial})
	}
	return into
}

// about returns what waits about a key, oldest first. Where held is not nil, the change has no
// object yet: it is that state's.
func (m *mailbox[T]) about(k listwatch.Key) (changes []Change[T], held []*indexer.State[T]) {
	first := m.first
	if m.fold {
		first = m.byKey[k]
	}
	for p := first; p != nil; p = p.next {
		if p.key == k {
			changes = p.tell(changes)
			held = append(held, make([]*indexer.State[T], len(changes)-len(held))...)
			held[len(held)-1] = p.held
		}
		if m.fold {
			break
		}
	}
	return changes, held
}

// pendingUpTo reports whether an entry waits whose number is not beyond seq.
func (m *mailbox[T]) pendingUpTo(seq uint64) bool { return m.first != nil && m.first.seq <= seq }

// holds reports whether something is folded under the key; a mailbox that does not fold says no.
func (m *mailbox[T]) holds(k listwatch.Key) bool {
	_, ok := m.byKey[k]
	return ok
}

func (m *mailbox[T]) append(p *pending[T]) {
	if m.fold {
		if m.byKey == nil {
			m.byKey = make(map[listwatch.Key]*pending[T])
		}
		m.byKey[p.key] = p
	}
	p.prev = m.last
	if m.last == nil {
		m.first = p
	} else {
		m.last.next = p
	}
	m.last = p
	m.len++
	if p.kind == pendingSync {
		m.syncs++
	}
}

func (m *mailbox[T]) remove(p *pending[T]) {
	if p.prev == nil {
		m.first = p.next
	} else {
		p.prev.next = p.next
	}
	if p.next == nil {
		m.last = p.prev
	} else {
		p.next.prev = p.prev
	}
	p.prev, p.next = nil, nil
	m.len--
	if p.kind == pendingSync {
		m.syncs--
	}
	if m.fold {
		delete(m.byKey, p.key)
		if m.len == 0 {
			m.byKey = nil // a map does not shrink
		}
	}
}
