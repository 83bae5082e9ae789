package indexer

import (
	"slices"

	"github.com/seed3bce33ad/listwatch"
)

// What is held stands in objects, or in the states of a compact store. The functions below know both.

// at returns the object at a position. It needs the write lock alone.
func (x *Indexer[T]) at(pos uint32) T {
	if x.compact == nil {
		return x.objects[pos]
	}
	return x.compact.object(x.compact.states[pos], false)
}

// oldLocked notes what the write finds at pos, for Write.Old. It needs both locks.
func (x *Indexer[T]) oldLocked(w *Write[T], pos uint32) {
	c := x.compact
	switch {
	case c != nil && w.Held:
		c.replaced = append(c.replaced, c.states[pos])
	case c != nil:
		c.replaced = append(c.replaced, nil)
	case w.Held && !w.NoOld:
		w.Old = x.objects[pos]
	}
}

// setLocked puts the written object at pos. It needs both locks.
func (x *Indexer[T]) setLocked(hash, pos uint32, w *Write[T]) {
	c := x.compact
	if c == nil {
		x.objects[pos] = w.Object
		return
	}
	c.dropLocked(pos)
	c.states[pos] = plain(w.Object)
	c.plain++
	c.fresh = append(c.fresh, fresh[T]{hash: hash, key: w.Head.Key, state: c.states[pos]})
}

// dropLocked counts the state at pos out. It needs both locks.
func (c *compact[T]) dropLocked(pos uint32) {
	if s := c.states[pos]; s != nil && s.sample == nil {
		c.plain--
	}
}

// finish fills in what the writes have replaced, and lets go of it. It needs the write lock alone.
func (c *compact[T]) finish(writes []Write[T]) {
	if c == nil {
		return
	}
	defer func() {
		clear(c.replaced)
		if c.replaced = c.replaced[:0]; cap(c.replaced) > keepFresh {
			c.replaced = nil
		}
	}()
	for i, s := range c.replaced {
		if s == nil {
			continue
		}
		if !writes[i].NoOld {
			writes[i].Old = c.object(s, false)
		}
		if writes[i].Applied {
			c.mu.Lock()
			c.recent.Remove(s)
			c.mu.Unlock()
		}
	}
}

// getCompact is [Indexer.Get].
func (x *Indexer[T]) getCompact(hash uint32, k listwatch.Key) (T, bool) {
	x.mu.RLock()
	pos, ok := x.find(hash, k)
	if !ok {
		x.mu.RUnlock()
		var none T
		return none, false
	}
	s := x.compact.states[pos]
	x.mu.RUnlock()
	return x.compact.object(s, true), true
}

// compactSnapshot is [Reader.Snapshot].
func (x *Indexer[T]) compactSnapshot() ([]T, string) {
	x.mu.RLock()
	states, version := slices.Clone(x.compact.states), x.version
	x.mu.RUnlock()
	return x.compact.objects(states), version
}

// getCompact is [Index.Get].
func (ix *Index[T, V]) getCompact(value V) []T {
	states := ix.packed(value)
	if states == nil {
		return nil
	}
	return ix.x.compact.objects(states)
}

// packed returns the states of the objects that have the value, in a compact store.
func (ix *Index[T, V]) packed(value V) []*state[T] {
	ix.x.mu.RLock()
	defer ix.x.mu.RUnlock()
	members := ix.members(value)
	if members == nil {
		return nil
	}
	states := make([]*state[T], len(members))
	for i, m := range members {
		states[i] = ix.x.compact.states[m.pos]
	}
	return states
}

// objects returns those of states that are read together.
func (c *compact[T]) objects(states []*state[T]) []T {
	keep, objects := c.few(len(states)), make([]T, len(states))
	for i, s := range states {
		objects[i] = c.object(s, keep)
	}
	return objects
}

func eachObject[T listwatch.Object](states []State[T], yield func(listwatch.Key, T) bool) {
	for i := range states {
		if !yield(states[i].Head.Key, states[i].Object()) {
			return
		}
	}
}
