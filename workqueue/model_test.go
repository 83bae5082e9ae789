package workqueue_test

import (
	"math"
	"math/big"
	"slices"
	"time"

	"github.com/seed3bce33ad/listwatch"
)

// model is the reference that random tests compare a queue with: the table of states, written
// down as plainly as possible, with linear searches and exact arithmetic. It shares no code
// and no data structure with the queue.
type model struct {
	now    time.Duration
	aging  time.Duration
	park   time.Duration
	flow   func(string) string
	delay  func(failures int) time.Duration
	keys   map[string]*modelKey
	failed map[string]int
	// turns holds, by priority, the flows that have ready keys, in the order of their turns.
	turns map[int][]string
	clock int
	open  bool
}

type modelKey struct {
	name     string
	state    string // "ready", "delayed", "working", "parked"
	priority int
	// place is the priority that a ready key competes with, entered when it got it.
	place     int
	entered   time.Duration
	order     int
	due       time.Duration
	again     bool
	againDue  time.Duration
	notBefore time.Duration
	signal    *listwatch.Signal
}

// pass lets time go by. What comes due does so in order.
func (m *model) pass(d time.Duration) {
	until := m.now + d
	for {
		var next *modelKey
		for _, k := range m.keys {
			if (k.state == "delayed" || k.state == "parked") && k.due <= until &&
				(next == nil || k.due < next.due || k.due == next.due && k.order < next.order) {
				next = k
			}
		}
		if next == nil {
			break
		}
		m.now = max(m.now, next.due)
		m.makeReady(next)
	}
	m.now = until
}

func (m *model) makeReady(k *modelKey) {
	k.state, k.again, k.signal = "ready", false, nil
	m.enter(k)
}

func (m *model) enter(k *modelKey) {
	m.clock++
	k.place, k.entered, k.order = k.priority, m.now, m.clock
	flow := m.flow(k.name)
	if !slices.Contains(m.turns[k.place], flow) {
		m.turns[k.place] = append(m.turns[k.place], flow)
	}
}

// leave takes a ready key out of the competition.
func (m *model) leave(k *modelKey) {
	k.state = ""
	flow := m.flow(k.name)
	for _, other := range m.keys {
		if other.state == "ready" && other.place == k.place && m.flow(other.name) == flow {
			return
		}
	}
	turns := m.turns[k.place]
	i := slices.Index(turns, flow)
	m.turns[k.place] = slices.Delete(turns, i, i+1)
}

func (m *model) later(k *modelKey, due time.Duration) {
	if due <= m.now {
		m.makeReady(k)
		return
	}
	m.clock++
	k.state, k.due, k.order, k.again = "delayed", due, m.clock, false
}

// back is later for a key that comes no sooner, whoever has added it meanwhile: it comes for them, too.
func (m *model) back(k *modelKey, due time.Duration) {
	again := k.again
	if m.later(k, due); k.state == "delayed" {
		k.again = again
	}
}

func (m *model) add(name string, after time.Duration, priority int, replace, retry bool) {
	if !m.open {
		return
	}
	due := m.now + max(after, 0)
	k := m.keys[name]
	if k == nil {
		k = &modelKey{name: name, priority: priority}
		m.keys[name] = k
		m.later(k, due)
		return
	}
	if !retry && (priority > k.priority || replace && priority != k.priority) {
		m.prioritize(k, priority)
	}
	switch k.state {
	case "parked":
		k.again = true
	case "ready":
		if replace && after > 0 {
			m.leave(k)
			m.later(k, due)
		}
	case "delayed":
		if replace || due < k.due {
			m.later(k, due)
		}
	case "working":
		if after <= 0 {
			due = math.MinInt64
		}
		if !k.again || replace || due < k.againDue {
			k.again, k.againDue = true, due
		}
	}
}

func (m *model) prioritize(k *modelKey, priority int) {
	higher := priority > k.priority
	k.priority = priority
	if k.state != "ready" {
		return
	}
	if higher && m.aging > 0 && int64((m.now-k.entered)/m.aging) >= int64(priority-k.place) {
		return
	}
	m.leave(k)
	k.state = "ready"
	m.enter(k)
}

// next is the key that Get must return.
func (m *model) next() *modelKey {
	var best *modelKey
	for place, turns := range m.turns {
		if len(turns) == 0 {
			continue
		}
		var first *modelKey
		for _, k := range m.keys {
			if k.state == "ready" && k.place == place && m.flow(k.name) == turns[0] &&
				(first == nil || k.order < first.order) {
				first = k
			}
		}
		if best == nil || m.ahead(first, best) {
			best = first
		}
	}
	return best
}

// ahead compares place + waited/aging, as fractions.
func (m *model) ahead(a, b *modelKey) bool {
	if m.aging < 0 {
		return a.place > b.place
	}
	effective := func(k *modelKey) *big.Rat {
		waited := big.NewRat(int64(m.now-k.entered), int64(m.aging))
		return waited.Add(waited, big.NewRat(int64(k.place), 1))
	}
	c := effective(a).Cmp(effective(b))
	return c > 0 || c == 0 && a.place > b.place
}

func (m *model) get() string {
	k := m.next()
	flow := m.flow(k.name)
	turns := m.turns[k.place]
	m.turns[k.place] = append(turns[1:len(turns):len(turns)], flow)
	m.leave(k)
	k.state, k.again = "working", false
	return k.name
}

func (m *model) finish(name string, after time.Duration, await *listwatch.Signal, failed bool) {
	k := m.keys[name]
	if k == nil || k.state != "working" {
		return
	}
	retry := m.now
	if failed {
		m.failed[name]++
		retry += m.delay(m.failed[name])
	} else {
		delete(m.failed, name)
	}
	if await != nil {
		if await.Fired() {
			m.back(k, retry)
			return
		}
		timeout := m.park
		if after > 0 {
			timeout = after
		}
		m.clock++
		k.state, k.order, k.signal, k.notBefore = "parked", m.clock, await, retry
		k.due = max(retry, m.now+timeout)
		return
	}
	var due []time.Duration
	if failed {
		due = append(due, retry)
	} else if after > 0 {
		due = append(due, m.now+after)
	}
	if k.again {
		due = append(due, k.againDue)
	}
	m.end(k, due)
}

func (m *model) done(name string) {
	k := m.keys[name]
	if k == nil || k.state != "working" {
		return
	}
	if k.again {
		m.end(k, []time.Duration{k.againDue})
	} else {
		m.end(k, nil)
	}
}

func (m *model) end(k *modelKey, due []time.Duration) {
	if len(due) == 0 {
		delete(m.keys, k.name)
		return
	}
	m.later(k, slices.Min(due))
}

func (m *model) fire(s *listwatch.Signal) {
	var woken []*modelKey
	for _, k := range m.keys {
		if k.state == "parked" && k.signal == s {
			woken = append(woken, k)
		}
	}
	for _, k := range woken {
		m.back(k, k.notBefore)
		k.signal = nil
	}
}

func (m *model) cancel(name string) bool {
	k := m.keys[name]
	switch {
	case k == nil || k.state == "ready":
		return false
	case k.state == "working":
		if k.again && k.againDue > m.now {
			k.again = false
			return true
		}
		return false
	case k.again:
		return false
	}
	delete(m.keys, name)
	return true
}

func (m *model) count(state string) (n int) {
	for _, k := range m.keys {
		if k.state == state {
			n++
		}
	}
	return n
}
