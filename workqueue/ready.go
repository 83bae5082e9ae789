package workqueue

import "github.com/seed3bce33ad/listwatch/internal/heap"

// readySet is the ready entries: levels by priority, in each level lanes by flow, in each lane
// entries by arrival.
//
// An entry gains one level of priority per aging. As all age alike, the order of two entries
// never changes while they wait, so nothing needs to be moved as time passes: a level's place
// among the others is that of the entry which it would give out next.
type readySet[K comparable] struct {
	// busy holds the levels that have entries, best first.
	busy   heap.Heap[*level[K]]
	levels map[int32]*level[K]
	// plain is the lane of priority 0 and no flow, which is never dropped.
	plain *lane[K]
	aging int64
	len   int
	// last is the latest time of a push.
	last int64
}

// level is the lanes of one priority.
type level[K comparable] struct {
	priority int32
	index    int
	aging    int64
	lanes    map[string]*lane[K]
	// turn is the lane whose turn it is, of those that have entries; they form a ring.
	turn *lane[K]
}

// lane is the entries of one priority and one flow. entry.due does not decrease along it.
type lane[K comparable] struct {
	list[K]
	level      *level[K]
	flow       string
	next, prev *lane[K]
	// members counts the entries, ready or not, that point here.
	members int
}

// Before orders levels by the priority, age included, of the entry that is next; at a tie the
// level with the higher priority of its own.
func (l *level[K]) Before(other *level[K]) bool {
	if l.priority < other.priority {
		return !other.Before(l)
	}
	// l has ahead levels more, other has waited longer by lead: that is worth lead/aging levels.
	ahead := int64(l.priority) - int64(other.priority)
	lead := l.turn.first.due - other.turn.first.due
	return l.aging < 0 || lead <= 0 || (lead-1)/l.aging < ahead
}

// Moved notes the index.
func (l *level[K]) Moved(index int) { l.index = index }

// init makes an empty set ready for use, without memory of what was in it.
func (r *readySet[K]) init(aging int64) {
	r.aging = aging
	r.levels, r.plain = make(map[int32]*level[K]), nil
	r.plain = r.lane(0, "")
	r.plain.members = 1
}

// lane returns the lane of a priority and flow. Whoever keeps it counts as a member.
func (r *readySet[K]) lane(priority int32, flow string) *lane[K] {
	if priority == 0 && flow == "" && r.plain != nil {
		return r.plain
	}
	l := r.levels[priority]
	if l == nil {
		l = &level[K]{priority: priority, aging: r.aging, lanes: make(map[string]*lane[K])}
		r.levels[priority] = l
	}
	n := l.lanes[flow]
	if n == nil {
		n = &lane[K]{level: l, flow: flow}
		l.lanes[flow] = n
	}
	return n
}

// leave ends a membership.
func (r *readySet[K]) leave(n *lane[K]) {
	n.members--
	if n.members > 0 {
		return
	}
	delete(n.level.lanes, n.flow)
	if len(n.level.lanes) == 0 {
		delete(r.levels, n.level.priority)
	}
}

// push puts an entry at the end of the lane of its priority, as of now or of the latest push
// before: a lane is in the order of time.
func (r *readySet[K]) push(e *entry[K], now int64) {
	if e.lane.level.priority != e.priority {
		n := r.lane(e.priority, e.lane.flow)
		n.members++
		r.leave(e.lane)
		e.lane = n
	}
	r.last = max(r.last, now)
	e.due = r.last
	n := e.lane
	n.push(e)
	r.len++
	if n.next == nil {
		r.join(n)
	}
}

// join puts a lane that has entries now into the ring, as the last whose turn it is.
func (r *readySet[K]) join(n *lane[K]) {
	l := n.level
	if l.turn == nil {
		n.next, n.prev, l.turn = n, n, n
		r.busy.Push(l)
		return
	}
	n.next, n.prev = l.turn, l.turn.prev
	n.prev.next, n.next.prev = n, n
}

// pop takes out the entry whose turn it is; nil when there is none. The turn passes on.
func (r *readySet[K]) pop() *entry[K] {
	if r.len == 0 {
		return nil
	}
	n := r.busy.Top().turn
	e := n.first
	n.level.turn = n.next
	r.remove(e)
	return e
}

// remove takes out an entry, wherever it stands.
func (r *readySet[K]) remove(e *entry[K]) {
	n := e.lane
	l := n.level
	n.remove(e)
	r.len--
	switch {
	case n.first != nil:
		r.busy.Fix(l.index)
	case n.next == n:
		n.next, n.prev, l.turn = nil, nil, nil
		r.busy.Remove(l.index)
	default:
		n.prev.next, n.next.prev = n.next, n.prev
		if l.turn == n {
			l.turn = n.next
		}
		n.next, n.prev = nil, nil
		r.busy.Fix(l.index)
	}
}

// raise gives a ready entry a higher priority. It goes as if it had come now with that
// priority, unless by its age it is ahead of that already.
func (r *readySet[K]) raise(e *entry[K], priority int32, now int64) {
	e.priority = priority
	ahead := int64(priority) - int64(e.lane.level.priority)
	if r.aging >= 0 && (now-e.due)/r.aging >= ahead {
		return
	}
	r.remove(e)
	r.push(e, now)
}

// oldest returns when the entry that waits longest in its lane came there, or now.
func (r *readySet[K]) oldest(now int64) int64 {
	for _, l := range r.busy.Items() {
		n := l.turn
		for {
			now = min(now, n.first.due)
			if n = n.next; n == l.turn {
				break
			}
		}
	}
	return now
}

// each calls f for the entries, lane by lane, until it returns false.
func (r *readySet[K]) each(f func(*entry[K]) bool) {
	for _, l := range r.busy.Items() {
		n := l.turn
		for {
			for e := n.first; e != nil; e = e.next {
				if !f(e) {
					return
				}
			}
			if n = n.next; n == l.turn {
				break
			}
		}
	}
}
