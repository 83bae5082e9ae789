package informer

import (
	"context"
	"strconv"

	"github.com/seed3bce33ad/listwatch"
)

// ChangeType says what a [Change] tells.
type ChangeType uint8

// The types of change. The zero value is none of them.
const (
	// Add: an object that this handler does not hold yet.
	Add ChangeType = iota + 1
	// Update: a new state of an object that this handler holds.
	Update
	// Delete: the object is gone, or has left what the source selects.
	Delete
)

// String returns the name of the type, such as "Add".
func (t ChangeType) String() string {
	switch t {
	case Add:
		return "Add"
	case Update:
		return "Update"
	case Delete:
		return "Delete"
	}
	return "ChangeType(" + strconv.Itoa(int(t)) + ")"
}

// MarshalText returns what String does, so that a ChangeType reads well in JSON.
func (t ChangeType) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// Change is what a handler is told about one key.
//
// Objects are shared with the store and with every other handler: they must not be changed.
type Change[T listwatch.Object] struct {
	// Type says what happened.
	Type ChangeType
	// Key names the object.
	Key listwatch.Key
	// Object is the newest state known; for Delete the last one.
	Object T
	// Old is what this handler was told last about the object. It is the zero T for Add.
	Old T
	// Initial marks an Add that belongs to the first list, or to what was there already when
	// the handler came.
	Initial bool
	// Unknown marks a Delete that nobody saw happen: Object is the last state known and may
	// be stale.
	Unknown bool
	// Resync marks an Update that reports no change: Old and Object are the same.
	Resync bool
}

// Handler is told the changes of a collection, one at a time and in order for each key. It
// may block: it delays itself alone. Its ctx ends with its registration and with the
// informer's Run; Run waits for a call that is under way.
type Handler[T listwatch.Object] func(ctx context.Context, c Change[T])

// Filter returns a handler that passes on to next only what concerns objects that match. An
// object that begins to match is passed on as Add, one that ceases to as Delete; what decides
// is what the handler was told last, so a Filter needs no memory of its own and is exact also
// when changes were folded together. match must depend on its argument alone.
func Filter[T listwatch.Object](match func(T) bool, next Handler[T]) Handler[T] {
	return func(ctx context.Context, c Change[T]) {
		var zero T
		switch c.Type {
		case Add:
			if match(c.Object) {
				next(ctx, c)
			}
		case Delete:
			if match(c.Old) {
				next(ctx, c)
			}
		case Update:
			before, after := match(c.Old), match(c.Object)
			switch {
			case before && !after:
				c.Type = Delete
			case !before && after:
				c.Type, c.Old = Add, zero
			case !before:
				return
			}
			next(ctx, c)
		}
	}
}
