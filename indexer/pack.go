package indexer

import (
	"math/bits"
	"slices"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/internal/pack"
)

const (
	// packStep is how many objects are encoded before they take their places.
	packStep = 64
	// sampleSize is how long a sample is at least, when there are objects enough.
	sampleSize = 8 << 10
	// keepFresh is how many keys a batch leaves memory for to the next one.
	keepFresh = 128
)

// Pack encodes what [Indexer.Apply] has written, if the store is Compact. Put, Delete and Replace
// do it by themselves, and so does the next Apply; who uses Apply calls it once everybody has been
// told of the write, who would wait otherwise. Writers wait meanwhile, readers don't. It does
// nothing when there is nothing to do.
//
// What can't be encoded is held as it is, and an [*EncodeError] goes to Options.OnError.
func (x *Indexer[T]) Pack() {
	if x.compact == nil {
		return
	}
	x.report(func() []error {
		x.write.Lock()
		defer x.write.Unlock()
		return x.packLocked()
	}())
}

// fresh is a state that is to be encoded.
type fresh[T any] struct {
	hash  uint32
	key   listwatch.Key
	state *state[T]
	// These are set on the way.
	pos   uint32
	text  []byte
	cause error
	now   *state[T] // nil when it stays as it is
}

// packLocked needs the write lock, alone if there is something to do.
func (x *Indexer[T]) packLocked() (errs []error) {
	c := x.compact
	if c == nil {
		return nil
	}
	for step := range slices.Chunk(c.fresh, packStep) {
		step = slices.DeleteFunc(step, func(f fresh[T]) bool {
			pos, ok := x.find(f.hash, f.key)
			return !ok || c.states[pos] != f.state // it was replaced
		})
		for i := range step {
			step[i].pos, _ = x.find(step[i].hash, step[i].key)
			step[i].text, step[i].cause = c.text(step[i].state.kept.Load().object)
		}
		c.encodeStep(step)
		x.placeLocked(step)
		for i := range step {
			if err := c.faultOf(&step[i]); err != nil {
				errs = append(errs, err)
			}
		}
		clear(step)
	}
	if c.fresh = c.fresh[:0]; cap(c.fresh) > keepFresh {
		c.fresh = nil
	}
	return errs
}

// encodeStep encodes what has a text. What is encoded was written last, so it counts as read.
func (c *compact[T]) encodeStep(step []fresh[T]) {
	if c.sample == nil || c.packed >= c.renew {
		c.resample(step)
	}
	for i := range step {
		f := &step[i]
		if f.cause != nil {
			continue
		}
		k := f.state.kept.Load()
		f.now, f.cause = c.encode(k.object, f.text)
		f.text = nil
		if f.cause == nil {
			c.packed++
			c.mu.Lock()
			c.keepLocked(f.now, k)
			c.mu.Unlock()
		}
	}
}

// resample takes some texts as what others are compared to. Each state keeps the sample that it was
// packed by, so there must not be many: each serves for four times as long as those before.
func (c *compact[T]) resample(step []fresh[T]) {
	var text []byte
	for i := 0; i < len(step) && len(text) < sampleSize; i += 1 + len(step)/4 {
		text = append(text, step[i].text...)
	}
	c.sample, c.renew = pack.New(text), 0
	if len(text) > 0 {
		c.renew = 4 * (c.packed + len(step))
	}
}

// placeLocked puts the encoded states in place of the others. It needs the write lock, and takes the
// other.
func (x *Indexer[T]) placeLocked(step []fresh[T]) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for i := range step {
		if f := &step[i]; f.now != nil {
			x.compact.states[f.pos] = f.now
			x.compact.plain--
		}
	}
}

// faultOf returns what is to be reported of a state.
func (c *compact[T]) faultOf(f *fresh[T]) error {
	if f.cause == nil {
		return nil
	}
	c.failures++
	if bits.OnesCount64(c.failures) != 1 {
		return nil
	}
	return &EncodeError{Indexer: c.name, Key: f.key, Cause: f.cause, Total: c.failures}
}
