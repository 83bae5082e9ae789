package deltafifo_test

import (
	"maps"
	"slices"
	"sync"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/deltafifo"
)

type entry struct {
	head   listwatch.Head
	object *pod
	mark   uint64
}

// memory is the plainest store that follows the rules of writes to an Indexer.
type memory struct {
	mu   sync.Mutex // guards held
	held map[listwatch.Key]*entry
	// changed is told of each write that had an effect; may be nil.
	changed func(d *deltafifo.Delta[*pod])
}

func newMemory() *memory { return &memory{held: make(map[listwatch.Key]*entry)} }

func (m *memory) Get(k listwatch.Key) (*pod, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.held[k]; e != nil {
		return e.object, true
	}
	return nil, false
}

func (m *memory) Mark(k listwatch.Key, generation uint64) (listwatch.Head, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.held[k]
	if e == nil {
		return listwatch.Head{}, false
	}
	e.mark = max(e.mark, generation)
	return e.head, true
}

func (m *memory) Unmarked(generation uint64) []listwatch.Head {
	m.mu.Lock()
	defer m.mu.Unlock()
	var heads []listwatch.Head
	for _, e := range m.held {
		if e.mark != generation {
			heads = append(heads, e.head)
		}
	}
	return heads
}

// apply writes the deltas of one key, each on its own.
func (m *memory) apply(deltas []deltafifo.Delta[*pod]) {
	for i := range deltas {
		m.write(&deltas[i])
	}
}

func (m *memory) write(d *deltafifo.Delta[*pod]) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := d.Head.Key
	old := m.held[k]
	applied := d.Type != deltafifo.Deleted
	if old != nil {
		old.mark = max(old.mark, d.Mark)
		applied = d.Force || supersedes(d, old.head)
	}
	if !applied {
		return
	}
	if d.Type == deltafifo.Deleted {
		delete(m.held, k)
	} else {
		m.held[k] = &entry{head: d.Head, object: d.Object, mark: d.Mark}
		if old != nil {
			m.held[k].mark = old.mark
		}
	}
	if m.changed != nil {
		m.changed(d)
	}
}

func supersedes(d *deltafifo.Delta[*pod], held listwatch.Head) bool {
	version := d.Head.ResourceVersion
	if listwatch.Newer(version, held.ResourceVersion) {
		return true
	}
	if d.Type != deltafifo.Deleted {
		_, err := listwatch.CompareVersions(version, held.ResourceVersion)
		return err != nil
	}
	other := d.Head.UID != held.UID && d.Head.UID != "" && held.UID != "" && held.ResourceVersion != ""
	return !other && !listwatch.Newer(held.ResourceVersion, version)
}

// headOf returns the state held under a name; the zero Head: nothing.
func (m *memory) headOf(name string) (head listwatch.Head) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.held[key(name)]; e != nil {
		head = e.head
	}
	return head
}

// heads returns what is held, sorted by key.
func (m *memory) heads() []listwatch.Head {
	m.mu.Lock()
	defer m.mu.Unlock()
	heads := []listwatch.Head{}
	for _, k := range slices.SortedFunc(maps.Keys(m.held), listwatch.Key.Compare) {
		heads = append(heads, m.held[k].head)
	}
	return heads
}
