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
//
// A Sink that has a method Lost(open bool), too, is told when a watch has lost something, before it
// gets the events behind that, and after each Commit whether something is lost that no list has
// repaired. Lost is called with a lock held: it must neither block nor call the Reflector.
type Sink[T listwatch.Object] interface {
	// Apply takes events of a live watch, all or none. It blocks while the sink is full, until
	// ctx is done. A Bookmark moves the position and nothing else. The slice is lent.
	Apply(ctx context.Context, events ...listwatch.Event[T]) error
	// Begin begins a snapshot and aborts the one before, if it is still open.
	Begin(m listwatch.Mode) listwatch.Snapshot[T]
}

// teller returns what tells the sink whether there is a gap.
func teller(sink any) func(open bool) {
	to, ok := sink.(interface{ Lost(open bool) })
	if !ok {
		return func(bool) {}
	}
	return func(open bool) {
		_ = safely("sink", func() error { to.Lost(open); return nil })
	}
}
