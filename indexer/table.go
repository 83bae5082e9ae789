package indexer

import (
	"hash/maphash"

	"github.com/seed3bce33ad/listwatch"
)

// table finds the row of a key. A slot has all that tells where to look next, so that the name's bytes
// and the object, which have to come from memory, are waited for together, and a look-up has no need of
// the row. Who uses it computes the hash, before a reader takes its lock.
type table struct {
	seed maphash.Seed
	// slots are a power of two, at most three quarters in use. A row stands in the slot of its
	// hash or in one of those that follow, and no slot between the two is free.
	slots []tableSlot
	len   int
}

// tableSlot is half as long as a line of the processor's cache, so that none stands in two.
type tableSlot struct {
	name  string // of the key
	hash  uint32
	row   uint32 // and one; 0: the slot is free
	space uint32 // the number of the namespace
	_     uint32
}

// smallest is the number of slots of a table that has anything in it.
const smallest = 8

func (t *table) hash(k listwatch.Key) uint32 { return uint32(maphash.Comparable(t.seed, k)) }

// put takes in a row that is not there.
func (t *table) put(s tableSlot) {
	if (t.len+1)*4 > len(t.slots)*3 {
		t.resize(max(smallest, 2*len(t.slots)))
	}
	t.place(s)
	t.len++
}

// resize makes room for so many slots.
func (t *table) resize(slots int) {
	old := t.slots
	t.slots = make([]tableSlot, slots)
	for _, s := range old {
		if s.row != 0 {
			t.place(s)
		}
	}
}

func (t *table) place(s tableSlot) {
	i := t.first(s.hash)
	for t.slots[i].row != 0 {
		i = t.next(i)
	}
	t.slots[i] = s
}

// first and next are the slots to look at for a hash.
func (t *table) first(hash uint32) int { return int(hash) & (len(t.slots) - 1) }

func (t *table) next(i int) int { return (i + 1) & (len(t.slots) - 1) }

// slotOf returns the slot of a row that is there.
func (t *table) slotOf(hash, row uint32) int {
	i := t.first(hash)
	for t.slots[i].row != row+1 {
		i = t.next(i)
	}
	return i
}

// move says that a row has another number now.
func (t *table) move(hash, from, to uint32) { t.slots[t.slotOf(hash, from)].row = to + 1 }

// remove takes out a row that is there. It gives memory back when seven eighths are unused.
func (t *table) remove(hash, row uint32) {
	free := t.slotOf(hash, row)
	// Those behind move up, unless that would put them before the slot of their hash.
	mask := len(t.slots) - 1
	for i := t.next(free); t.slots[i].row != 0; i = t.next(i) {
		if home := t.first(t.slots[i].hash); (i-home)&mask >= (i-free)&mask {
			t.slots[free] = t.slots[i]
			free = i
		}
	}
	t.slots[free] = tableSlot{}
	t.len--
	if len(t.slots) > 1024 && t.len < len(t.slots)/8 {
		t.resize(len(t.slots) / 2)
	}
}
