package reflector

import (
	"context"

	"github.com/seed3bce33ad/listwatch"
)

// Sink is what a [Reflector] keeps equal to a source. A *deltafifo.DeltaFIFO is one.
//
// Apply and the methods of a snapshot may be called at the same time, from two goroutines. An
// error or a panic of any of them is reported and counts as a failure: what was to be handed
// over is read again from the source after a pause.
type Sink[T listwatch.Object] interface {
	// Apply takes events of a live watch, all or none. It blocks while the sink is full, until
	// ctx is done. A Bookmark moves the position and nothing else. The slice is lent. Refused with
	// [listwatch.ErrDrift], they are asked for again by another watch, at once.
	Apply(ctx context.Context, events ...listwatch.Event[T]) error
	// Begin begins a snapshot and aborts the one before, if it is still open.
	Begin(m listwatch.Mode) listwatch.Snapshot[T]
	// Lost tells that a watch has lost something, before the events behind that are applied; and
	// after each Commit whether there is something lost that no list has repaired. It is called
	// with a lock held: it must neither block nor call the Reflector.
	Lost(open bool)
}
