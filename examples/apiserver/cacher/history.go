package cacher

import "sort"

// history is the last part of a collection's changes, bounded by number and by bytes. The cache's lock guards it.
type history struct {
	limit, limitBytes int
	// events are in order; the first has the number first.
	events []*Event
	first  uint64
	bytes  int
	// oldest is the revision behind which every event is held.
	oldest int64
}

// add takes an event, and drops old ones until the limits hold. The newest is always held.
func (h *history) add(e *Event) {
	h.events = append(h.events, e)
	h.bytes += e.size()
	for len(h.events) > 1 && (len(h.events) > h.limit || h.bytes > h.limitBytes) {
		dropped := h.events[0]
		h.events[0] = nil // the array may live on
		h.events = h.events[1:]
		h.first++
		h.bytes -= dropped.size()
		h.oldest = max(h.oldest, dropped.Revision)
	}
}

// next is the number that the next event will have.
func (h *history) next() uint64 { return h.first + uint64(len(h.events)) }

// from returns at most limit events from a number on; ok is false when they have been dropped.
func (h *history) from(number uint64, limit int) (events []*Event, ok bool) {
	if number < h.first {
		return nil, false
	}
	held := h.events[number-h.first:]
	return held[:min(limit, len(held))], true
}

// behind returns the number of the first event with a greater revision.
func (h *history) behind(revision int64) uint64 {
	return h.first + uint64(sort.Search(len(h.events), func(i int) bool { return h.events[i].Revision > revision }))
}

// begin forgets all: the history begins behind a revision. Numbers go on, so that none is used twice.
func (h *history) begin(revision int64) {
	h.first = h.next()
	h.events, h.bytes, h.oldest = nil, 0, revision
}
