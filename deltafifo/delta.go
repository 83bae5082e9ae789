package deltafifo

import (
	"strconv"

	"github.com/seed3bce33ad/listwatch"
)

// Type says how a [Delta] came about.
type Type uint8

// The types of delta. The zero value is none of them.
const (
	// Added: a watch reported the object as new.
	Added Type = iota + 1
	// Updated: a watch reported a new state.
	Updated
	// Replaced: a snapshot held this state, which is newer than the one known before. Whether
	// the key is new with it is for the store to say.
	Replaced
	// Deleted: the object is gone.
	Deleted
)

// String returns the name of the type, such as "Added".
func (t Type) String() string {
	switch t {
	case Added:
		return "Added"
	case Updated:
		return "Updated"
	case Replaced:
		return "Replaced"
	case Deleted:
		return "Deleted"
	}
	return "Type(" + strconv.Itoa(int(t)) + ")"
}

// MarshalText returns what String does, so that a Type reads well in JSON.
func (t Type) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// Delta is one change of one object.
type Delta[T listwatch.Object] struct {
	// Type says how the change came about.
	Type Type
	// Unknown: the object vanished unseen; Object may be older than its last state.
	Unknown bool
	// Initial: the delta is part of the first snapshot.
	Initial bool
	// Force: the state is to be believed although its version is not newer than the held one.
	Force bool
	// Head is the key, the identity and the version of Object. For Deleted the version is that
	// of the deletion. It is empty for a state whose version means nothing any more, since the
	// server was restored and could not say what became of it.
	Head listwatch.Head
	// Object is the new state. For Deleted it is the last known one, never a wrapper.
	Object T
	// Mark is the generation of the last snapshot that listed the key, for the store to keep.
	Mark uint64
}

// Deltas are the queued changes of one key, oldest first. There is at least one.
type Deltas[T listwatch.Object] struct {
	// Key names the object.
	Key listwatch.Key
	// Deltas are lent as long as the [Batch] is.
	Deltas []Delta[T]
}

// Batch is what one [DeltaFIFO.Pop] hands out.
type Batch[T listwatch.Object] struct {
	// Items are the changes, one entry a key, in the order in which the keys were queued. They
	// are lent until process returns. Empty when only the other fields have changed.
	Items []Deltas[T]
	// Version is a position of the source: what happened at or below it has been handed out
	// with this batch or before. Empty: not known.
	Version string
	// Exact: after this batch the store holds the collection exactly as of Version, but for
	// objects that were refused.
	Exact bool
	// Synced: the first snapshot is complete with this batch, or was before.
	Synced bool
	// Gap: of what happened at or below Version something was lost on the way, and has not been
	// handed out yet; see [DeltaFIFO.Lost].
	Gap bool
	// Epoch is the number of restores of the server that have been handed out completely;
	// Version belongs to it.
	Epoch uint64
}
