package listwatch

import "context"

// Snapshot is one list on its way into a sink. It begins with the sink's Begin(mode) and ends
// with Commit or Abort; a sink has one at a time, and beginning another aborts the one before.
//
// Put and Known may be called from several goroutines at once. Once the snapshot has ended,
// by whatever way, Put and Commit return an error that wraps [ErrStopped] and Known returns false.
type Snapshot[T Object] interface {
	// Known notes that the object was listed in this state, and reports whether the sink holds
	// that very state, so that the body isn't needed. A Head without version notes that the key
	// was listed in a state that could not be taken: whatever is held under it stays. A Head
	// without name says so of an object that could not even be named: then nothing that was
	// not listed is deleted by this snapshot.
	Known(h Head) bool
	// Put hands over listed objects. It blocks while the sink is full, until ctx is done.
	Put(ctx context.Context, objects ...T) error
	// Commit ends the list: it was complete as of version.
	Commit(version string) error
	// Abort ends the snapshot without deleting anything. After Commit it does nothing.
	Abort()
}
