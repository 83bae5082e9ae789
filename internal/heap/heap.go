// Package heap is a heap whose elements know where they stand, so that any of them can be
// taken out or put right again.
package heap

// Element is what a [Heap] orders.
type Element[E any] interface {
	// Before reports whether this element comes out before other.
	Before(other E) bool
	// Moved tells the element the index it now has. An element that leaves is not told.
	Moved(index int)
}

// Heap gives out its least element first. The zero value is empty and ready. It is not safe
// for concurrent use.
type Heap[E Element[E]] struct {
	items []E
}

// arity is the number of children of a node: four of them share a cache line or two, and the
// tree is half as deep as a binary one.
const arity = 4

// smallest is the capacity below which the slice is never given back.
const smallest = 64

// Len returns the number of elements.
func (h *Heap[E]) Len() int { return len(h.items) }

// Top returns the least element. The heap must not be empty.
func (h *Heap[E]) Top() E { return h.items[0] }

// Items returns the elements in heap order. The slice is only lent.
func (h *Heap[E]) Items() []E { return h.items }

// Push puts an element in.
func (h *Heap[E]) Push(e E) {
	h.items = append(h.items, e)
	h.up(len(h.items) - 1)
}

// Remove takes the element at index out.
func (h *Heap[E]) Remove(index int) {
	var none E
	last := len(h.items) - 1
	moved := h.items[last]
	h.items[last] = none
	h.items = h.items[:last]
	if index < last {
		h.items[index] = moved
		h.Fix(index)
	}
	if c := cap(h.items); c > smallest && last < c/4 {
		h.items = append(make([]E, 0, c/2), h.items...)
	}
}

// Set puts e in the place of the element at index.
func (h *Heap[E]) Set(index int, e E) {
	h.items[index] = e
	h.Fix(index)
}

// Fix restores the order after the element at index has changed.
func (h *Heap[E]) Fix(index int) {
	if !h.down(index) {
		h.up(index)
	}
}

func (h *Heap[E]) up(index int) {
	e := h.items[index]
	for index > 0 {
		parent := (index - 1) / arity
		if !e.Before(h.items[parent]) {
			break
		}
		h.items[index] = h.items[parent]
		h.items[index].Moved(index)
		index = parent
	}
	h.items[index] = e
	e.Moved(index)
}

// down reports whether the element has moved.
func (h *Heap[E]) down(index int) bool {
	e, start := h.items[index], index
	for {
		first := index*arity + 1
		if first >= len(h.items) {
			break
		}
		least := first
		for child := first + 1; child < min(first+arity, len(h.items)); child++ {
			if h.items[child].Before(h.items[least]) {
				least = child
			}
		}
		if !h.items[least].Before(e) {
			break
		}
		h.items[index] = h.items[least]
		h.items[index].Moved(index)
		index = least
	}
	if index == start {
		return false
	}
	h.items[index] = e
	e.Moved(index)
	return true
}
