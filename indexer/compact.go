package indexer

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/internal/json"
	"github.com/seed3bce33ad/listwatch/internal/pack"
)

// ErrNotEqual is the cause of an [EncodeError] of an object that was not the same when it was
// decoded again.
var ErrNotEqual = errors.New("decoded again it is not equal")

// Compact has an [Indexer] hold its objects encoded, in about a tenth of the memory, and decode
// them when they are read. The zero value works.
//
// Keys, versions and index values are kept beside, so nothing but objects is decoded: not for
// Head, Keys, Len, marks or Explain, nor for a list that shows what is held. An object that is
// written is held as it is until [Indexer.Pack]; the objects written or read last are kept as
// they are, too.
//
// What differs for readers: an object that was read, and was read again after others, may be
// another copy of the same state. A List decodes everything, so prefer [Reader.All],
// [Reader.States] and indexes.
type Compact struct {
	// Recent is how many decoded objects are kept for those who ask again, those read or written last,
	// more or less. Get keeps the object that it has decoded; a read of many objects keeps them
	// only when they are less than a quarter of Recent. Defaults to 1024.
	Recent int
	// Encode returns the object, a T, as bytes, which the store compresses. It must not return
	// memory that it writes to again. Defaults to JSON as of encoding/json, without escapes of
	// HTML.
	Encode func(object any) ([]byte, error)
	// Decode decodes what Encode returned into v, a *T that points to a zero T. data is lent: it
	// must not be kept. What it could read once it must be able to read again, or reads panic.
	// An informer calls it while it works, so it must not call the informer.
	// Defaults to JSON with the results of encoding/json, but that a whole number becomes an
	// int64 where the type leaves it open.
	Decode func(data []byte, v any) error
	// Lossless promises that Decode returns whatever Encode is given. Objects are then stored
	// without being decoded once and compared by reflect.DeepEqual, which is the larger part of
	// what storing costs. Defaults to false: an object that would lose something is held as it is.
	Lossless bool
}

// EncodeError reports that an object could not be encoded, or lost something by it. It is held
// as it is, so it is found and complete; it just takes more memory. See also Stats.Plain.
type EncodeError struct {
	// Indexer is the Options.Name of the store.
	Indexer string
	// Key names the object.
	Key listwatch.Key
	// Cause is [ErrNotEqual], what Encode or Decode returned, or what it panicked with.
	Cause error
	// Total is how many there have been so far. The first is reported, and then those whose
	// number is a power of two.
	Total uint64
}

// Error describes the failure in one line.
func (e *EncodeError) Error() string {
	return fmt.Sprintf("indexer %s: object %s is not held compactly (%d so far): %v", e.Indexer, e.Key, e.Total, e.Cause)
}

// Unwrap returns the cause.
func (e *EncodeError) Unwrap() error { return e.Cause }

func (c Compact) withDefaults() Compact {
	if c.Recent == 0 {
		c.Recent = 1024
	}
	if c.Encode == nil {
		c.Encode = encodeJSON
	}
	if c.Decode == nil {
		c.Decode = decodeJSON()
	}
	return c
}

func encodeJSON(object any) ([]byte, error) {
	var b bytes.Buffer
	e := stdjson.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(object)
	return b.Bytes(), err
}

func decodeJSON() func([]byte, any) error {
	d, _ := json.New(json.Options{Integers: true}) // fails for another option alone
	return d.Unmarshal
}

// compact is the encoded part of an [Indexer]: its states stand for the objects of a plain one.
type compact[T listwatch.Object] struct {
	options Compact
	name    string

	// Guarded by the indexer's locks, as its entries are. plain counts the states that are not encoded.
	states []*state[T]
	plain  int

	// Guarded by the indexer's write lock, as is all up to buffers.
	fresh    []fresh[T]   // written since they were encoded last
	replaced []*state[T]  // what was held before each write of a batch; empty between two
	sample   *pack.Sample // the latest
	packed   int          // states encoded so far
	renew    int          // at so many the sample is made anew
	failures uint64

	buffers sync.Pool // *[]byte

	// mu guards recent, the encoded states that are decoded, too. It is a leaf.
	mu     sync.Mutex
	recent *simplelru.LRU[*state[T], *kept[T]]
}

// state is one state of one object. A fresh one is replaced by an encoded one.
type state[T any] struct {
	data   string       // encoded, packed by sample
	sample *pack.Sample // nil: it is not encoded
	// kept has the object: always where nothing is encoded, else as long as it is in recent.
	kept atomic.Pointer[kept[T]]
}

type kept[T any] struct {
	object T
	read   atomic.Bool // since it was the oldest the last time
}

// plain returns a state that is not encoded.
func plain[T any](o T) *state[T] {
	s := new(state[T])
	s.kept.Store(&kept[T]{object: o})
	return s
}

func newCompact[T listwatch.Object](name string, o Compact) *compact[T] {
	c := &compact[T]{options: o.withDefaults(), name: name}
	forget := func(s *state[T], _ *kept[T]) { s.kept.Store(nil) }
	recent, err := simplelru.NewLRU(c.options.Recent, forget)
	if err != nil {
		panic(fmt.Sprintf("indexer %s: option Recent is %d", name, o.Recent))
	}
	c.recent = recent
	return c
}

// object returns the object of a state. With keep it counts as read: it is kept for the next who asks.
// No lock may be held that readers wait for. What is kept is read without one.
func (c *compact[T]) object(s *state[T], keep bool) T {
	if k := s.kept.Load(); k != nil {
		if keep && !k.read.Load() {
			k.read.Store(true)
		}
		return k.object
	}
	o, err := c.decode(s)
	if err != nil {
		panic(fmt.Sprintf("indexer %s: what was decoded before is not any more: %v", c.name, err))
	}
	if !keep {
		return o
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if first := s.kept.Load(); first != nil { // somebody else has read it meanwhile
		return first.object
	}
	c.keepLocked(s, &kept[T]{object: o})
	return o
}

// chances is how many objects at most are spared for one that is to be kept.
const chances = 8

// keepLocked keeps the object of an encoded state. Of those kept longest, the ones that were read since
// they were spared the last time are spared again. It needs mu.
func (c *compact[T]) keepLocked(s *state[T], k *kept[T]) {
	for range chances {
		oldest, old, ok := c.recent.GetOldest()
		if !ok || c.recent.Len() < c.options.Recent || !old.read.Swap(false) {
			break
		}
		c.recent.Get(oldest) // it is the youngest now
	}
	s.kept.Store(k)
	c.recent.Add(s, k)
}

// few reports whether the objects of a read of n are to be kept: more would push out what is
// asked for one by one.
func (c *compact[T]) few(n int) bool { return n < max(2, c.options.Recent/4) }

func (c *compact[T]) decode(s *state[T]) (o T, err error) {
	buffer, _ := c.buffers.Get().(*[]byte)
	if buffer == nil {
		buffer = new([]byte)
	}
	data, err := s.sample.Unpack(s.data, (*buffer)[:0])
	if err == nil {
		err = c.options.Decode(data, &o)
	}
	if *buffer = data; cap(data) <= keepBuffer {
		c.buffers.Put(buffer)
	}
	return o, err
}

// keepBuffer is the greatest buffer that is kept from read to read.
const keepBuffer = 1 << 20

// encode returns the state encoded, unless that fails or loses something. The functions of the
// user may panic.
func (c *compact[T]) encode(o T, data []byte) (s *state[T], err error) {
	defer func() {
		if p := recover(); p != nil {
			s, err = nil, panicked(p)
		}
	}()
	s = &state[T]{data: c.sample.Pack(data), sample: c.sample}
	if c.options.Lossless {
		return s, nil
	}
	again, err := c.decode(s)
	if err != nil {
		return nil, err
	}
	if !reflect.DeepEqual(o, again) {
		return nil, ErrNotEqual
	}
	return s, nil
}

// text is the user's Encode, whose panic is an error.
func (c *compact[T]) text(o T) (data []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			data, err = nil, panicked(p)
		}
	}()
	return c.options.Encode(o)
}
