package workqueue

import "math"

// State says where a key stands in a queue.
type State uint8

// The states of a key that a queue holds.
const (
	// Ready: to be handed out by Get.
	Ready State = iota + 1
	// Delayed: becomes Ready when it is due.
	Delayed
	// Working: handed out, and neither Done nor Finish has been called.
	Working
	// Parked: becomes Ready when its signal fires, or when it is due.
	Parked
)

// String returns the name of the state, such as "Ready".
func (s State) String() string {
	switch s {
	case Ready:
		return "Ready"
	case Delayed:
		return "Delayed"
	case Working:
		return "Working"
	case Parked:
		return "Parked"
	}
	return "none"
}

// MarshalText returns what String does, so that a State reads well in JSON.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// atOnce is the due time of a re-add without delay: before any other.
const atOnce = math.MinInt64

// chunk is how many entries are allocated at once.
const chunk = 23 // 2 KiB of them if a key is two strings

// modest is a size that a queue may keep memory for without anybody minding.
const modest = 1024

// entry is one key that the queue holds. All of it is guarded by the queue's lock.
//
// Times are nanoseconds since the queue was made. There may be millions of entries, so what
// only parked ones need stands in a map of the queue.
type entry[K comparable] struct {
	key K
	// next and prev link entries in a list: of a lane when Ready, of the queue when Working.
	next, prev *entry[K]
	// lane is where the entry stands or stood last. It keeps the flow.
	lane *lane[K]
	// due is, by state: Ready the place in the lane (no later than its successor's); Delayed
	// and Parked when it is due; Working when it is due again, if again.
	due int64
	// since is when the entry came into its state.
	since int64
	// priority is what the entry will have when it becomes Ready the next time; a Ready one may
	// stand in a lane of a lower priority that serves it sooner.
	priority int32
	// index is the place in the heap of a Delayed or Parked entry.
	index int32
	// seq orders delayed entries of one due time. It may wrap round.
	seq   uint32
	state State
	// again: added while Working or Parked.
	again bool
}

// TableKey returns the key.
func (e *entry[K]) TableKey() K { return e.key }

// list is a list of entries, oldest first. An entry is in one at most.
type list[K comparable] struct {
	first, last *entry[K]
}

func (l *list[K]) push(e *entry[K]) {
	e.prev, e.next = l.last, nil
	if l.last == nil {
		l.first = e
	} else {
		l.last.next = e
	}
	l.last = e
}

func (l *list[K]) remove(e *entry[K]) {
	if e.prev == nil {
		l.first = e.next
	} else {
		e.prev.next = e.next
	}
	if e.next == nil {
		l.last = e.prev
	} else {
		e.next.prev = e.prev
	}
	e.next, e.prev = nil, nil
}

// slot is an entry's place in the heap of delayed entries. The due time stands here as well,
// so that ordering the heap does not touch the entries.
type slot[K comparable] struct {
	due   int64
	entry *entry[K]
}

// Before orders by due time, then by arrival.
func (s slot[K]) Before(other slot[K]) bool {
	return s.due < other.due || s.due == other.due && int32(s.entry.seq-other.entry.seq) < 0
}

// Moved notes the index.
func (s slot[K]) Moved(index int) { s.entry.index = int32(index) }

// newEntryLocked takes a spare entry and puts it under its key.
func (q *Queue[K]) newEntryLocked(k K, hash uint32, priority int32, flow string) *entry[K] {
	e := q.spare
	if e == nil {
		e = q.spareLocked()
	}
	q.spare, e.next = e.next, nil
	e.key, e.priority = k, priority
	e.lane = q.ready.lane(priority, flow)
	e.lane.members++
	q.entries.Put(hash, e)
	q.high = max(q.high, q.entries.Len())
	return e
}

// spareLocked makes a chunk of spare entries and returns the first.
func (q *Queue[K]) spareLocked() *entry[K] {
	entries := make([]entry[K], chunk)
	for i := range entries[1:] {
		entries[i].next = &entries[i+1]
	}
	q.spare = &entries[0]
	return q.spare
}

// dropLocked forgets an entry that is in no list and no heap, and whose key has that hash.
func (q *Queue[K]) dropLocked(e *entry[K], hash uint32) {
	q.entries.Delete(hash, e)
	q.ready.leave(e.lane)
	*e = entry[K]{next: q.spare}
	q.spare = e
	if q.entries.Len() == 0 {
		q.shrinkLocked()
	}
}

// shrinkLocked gives memory back when the queue is empty: if it was made for a crowd that has
// not come again since the queue was empty before.
func (q *Queue[K]) shrinkLocked() {
	if q.size > modest && q.high < q.size/4 {
		q.entries.Reset()
		q.spare, q.size = nil, 0
		q.parked = make(map[*entry[K]]*parking[K])
		q.ready.init(q.ready.aging)
	}
	q.size, q.high = max(q.size, q.high), 0
}

func clamp(priority int) int32 {
	return int32(min(max(priority, math.MinInt32), math.MaxInt32))
}
