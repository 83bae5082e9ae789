package cacher

import (
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// Entry is one state of an object. It never changes; what has been made of it is remembered.
type Entry struct {
	// Key is the key within the collection: "namespace/name", or the name alone.
	Key string
	// Value is what Options.Stamp made. It is shared and must not be changed.
	Value []byte
	// Revision is that of the write.
	Revision int64
	// Err is why there is no Value: what is stored cannot be read.
	Err error

	memo memo
}

// Memo returns what make returned for that name, which is called once for all who ask. It must not call Memo
// of the same entry.
func (e *Entry) Memo(name string, make func() (any, error)) (any, error) {
	return e.memo.get(name, make)
}

// GetNamespace returns the namespace, or "".
func (e *Entry) GetNamespace() string {
	namespace, _, ok := strings.Cut(e.Key, "/")
	if !ok {
		return ""
	}
	return namespace
}

// GetName returns the name within the namespace.
func (e *Entry) GetName() string { return e.Key[strings.IndexByte(e.Key, '/')+1:] }

// GetResourceVersion returns the revision in decimal.
func (e *Entry) GetResourceVersion() string { return format(e.Revision) }

func format(revision int64) string { return strconv.FormatInt(revision, 10) }

// memo remembers a few things by name. Most entries remember nothing.
type memo struct {
	made atomic.Pointer[[]made]
	mu   sync.Mutex
}

type made struct {
	name string
	what any
	err  error
}

func (m *memo) find(name string) (made, bool) {
	if all := m.made.Load(); all != nil {
		for _, one := range *all {
			if one.name == name {
				return one, true
			}
		}
	}
	return made{}, false
}

func (m *memo) get(name string, make func() (any, error)) (any, error) {
	if one, ok := m.find(name); ok {
		return one.what, one.err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if one, ok := m.find(name); ok {
		return one.what, one.err
	}
	var all []made
	if before := m.made.Load(); before != nil {
		all = append(all, *before...)
	}
	what, err := make()
	all = append(all, made{name, what, err})
	m.made.Store(&all)
	return what, err
}

// Event is one change. It is shared and must not be changed.
type Event struct {
	// Key is the key within the collection.
	Key string
	// Revision is that of the change.
	Revision int64
	// Previous and Current are the states before and behind it; nil: there was, or is, none.
	Previous, Current *Entry

	memo memo
}

// Memo returns what make returned for that name, which is called once for all who ask. It is kept as long as the event
// is, which is not for long. It must not call Memo or Last of the same event.
func (e *Event) Memo(name string, make func() (any, error)) (any, error) {
	return e.memo.get(name, make)
}

// Last returns the state before the change with the version of the change: what is shown of an object that is
// deleted, or leaves what a watch selects. Previous must not be nil.
func (e *Event) Last(stamp Stamp) *Entry {
	last, _ := e.memo.get("", func() (any, error) {
		if err := e.Previous.Err; err != nil {
			return &Entry{Key: e.Key, Revision: e.Revision, Err: err}, nil
		}
		return NewEntry(e.Key, e.Previous.Value, e.Revision, stamp), nil
	})
	return last.(*Entry)
}

// Stamp writes a version into a stored value, or into what it returned before. The result is memory of its own.
type Stamp func(value []byte, revision int64) ([]byte, error)

// NewEntry returns the state of an object that is stored as value.
func NewEntry(key string, value []byte, revision int64, stamp Stamp) *Entry {
	e := &Entry{Key: key, Revision: revision}
	e.Value, e.Err = stamp(value, revision)
	return e
}

// size is about how many bytes an event keeps in memory beyond the present state.
func (e *Event) size() int {
	const around = 300
	if e.Current != nil {
		return around + len(e.Current.Value)
	}
	return around + len(e.Previous.Value)
}
