package informer

import (
	"slices"
	"sync/atomic"

	"github.com/seed3bce33ad/listwatch"
)

// nodeLength is how many changes a node has at most.
const nodeLength = 2 * runLength

// node is a part of the shared log of changes. Handlers walk from node to node, each at its
// own pace; a node that every handler has left is garbage. The last node is always empty, so
// an idle log keeps nothing alive.
type node[T listwatch.Object] struct {
	// first is the number of changes[0]. It and changes are written once, before next is set.
	first   uint64
	changes []Change[T]
	next    atomic.Pointer[node[T]]
}

// log is the writing end. It is used by one goroutine at a time.
type log[T listwatch.Object] struct {
	end *node[T]
}

// seq is the number that the next change will have.
func (l *log[T]) seq() uint64 { return l.end.first }

// append publishes a copy of the changes, in short nodes: a handler that blocks keeps one alive.
func (l *log[T]) append(changes []Change[T]) {
	for part := range slices.Chunk(changes, nodeLength) {
		end := &node[T]{first: l.end.first + uint64(len(part))}
		l.end.changes = slices.Clone(part)
		l.end.next.Store(end)
		l.end = end
	}
}

// cursor is a reader's place in the log: the next change to read. It stands behind the last
// change of a node only in the last node, which has none.
type cursor[T listwatch.Object] struct {
	node  *node[T]
	index int
}

// seq is the number of the next change to read.
func (c *cursor[T]) seq() uint64 { return c.node.first + uint64(c.index) }

// read returns up to n changes that follow, none beyond number limit, and moves behind them.
// The slice must not be written. It is empty when there are none.
func (c *cursor[T]) read(n int, limit uint64) []Change[T] {
	next := c.node.next.Load()
	if next == nil || c.seq() > limit {
		return nil
	}
	end := len(c.node.changes)
	if n < end-c.index {
		end = c.index + n
	}
	if beyond := limit - c.seq(); beyond < uint64(end-c.index) {
		end = c.index + int(beyond) + 1
	}
	run := c.node.changes[c.index:end]
	c.index = end
	if end == len(c.node.changes) {
		c.node, c.index = next, 0
	}
	return run
}
