package simulation_test

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/indexer"
)

// index is an index that was added, with what it is by.
type index struct {
	*indexer.Index[*object, string]
	name   string
	values func(*object) []string
	// fails says for which objects the function panics.
	fails func(*object) bool
	// gone: it is about to be removed.
	gone atomic.Bool
}

// index adds an index, unless there is one of that name.
func (c *client) index(by string) {
	ix := &index{name: by, fails: func(*object) bool { return false }}
	switch by {
	case "class":
		ix.values = func(o *object) []string { return []string{class(o)} }
	case "key":
		ix.values = func(o *object) []string { return []string{o.Name} }
	case "many":
		ix.values = func(o *object) []string { return []string{class(o), o.Namespace, class(o), o.Value} }
	case "faulty":
		ix.fails = func(o *object) bool { return class(o) == "v3" }
		ix.values = func(o *object) []string {
			if ix.fails(o) {
				panic("an index that panics")
			}
			return []string{class(o)}
		}
	default:
		ix.values = func(*object) []string { return nil }
	}
	made, err := indexer.AddIndex(c.reader, by, ix.values)
	if err != nil {
		if !errors.Is(err, indexer.ErrIndexExists) {
			c.Fail(converges, "AddIndex: %v", err)
		}
		return
	}
	ix.Index = made
	c.setIndexes(append(slices.Clone(c.indexes), ix))
}

func (c *client) unindex(n int) {
	if len(c.indexes) == 0 {
		return
	}
	n %= len(c.indexes)
	c.indexes[n].gone.Store(true)
	if !c.reader.RemoveIndex(c.indexes[n].name) {
		c.Fail(converges, "there is no index %s", c.indexes[n].name)
	}
	c.setIndexes(slices.Delete(slices.Clone(c.indexes), n, n+1))
}

func (c *client) setIndexes(indexes []*index) {
	c.indexMu.Lock()
	defer c.indexMu.Unlock()
	c.indexes = indexes
}

// lookAtIndexes compares each index with one that is built anew.
func (c *client) lookAtIndexes() {
	objects := c.reader.List()
	for _, ix := range c.indexes {
		want, have := map[string]int{}, map[string]int{}
		for _, o := range objects {
			if ix.fails(o) {
				continue
			}
			values := slices.Compact(slices.Sorted(slices.Values(ix.values(o))))
			for _, v := range values {
				want[v+" "+o.Name]++
			}
		}
		for v := range ix.Values() {
			for k := range ix.All(v) {
				have[v+" "+k.Name]++
			}
		}
		if a, b := fmt.Sprint(want), fmt.Sprint(have); a != b {
			c.Fail(converges, "index %s of %s has %s, the store %s", ix.name, c.name, b, a)
		}
	}
	spaces := 0
	for v := range c.reader.Namespaces().Values() {
		spaces += len(c.reader.Namespace(v))
	}
	if spaces != len(objects) {
		c.Fail(converges, "%d objects in namespaces of %s, of %d", spaces, c.name, len(objects))
	}
}

// checkIndexesFor checks that what a handler is told is in each index, unless the store has
// moved on.
func (c *client) checkIndexesFor(o *object) {
	k := listwatch.KeyOf(o)
	c.indexMu.Lock()
	indexes := c.indexes
	c.indexMu.Unlock()
	for _, ix := range indexes {
		if ix.fails(o) {
			continue
		}
		for _, v := range ix.values(o) {
			if slices.Contains(ix.Keys(v), k) {
				continue
			}
			if held, ok := c.reader.Get(k); ok && held == o && !ix.gone.Load() {
				c.Fail(cacheFirst, "%s is not under %q in index %s", k, v, ix.name)
			}
		}
	}
}
