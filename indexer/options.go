package indexer

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"

	"github.com/seed3bce33ad/listwatch"
)

var (
	// ErrIndexExists is returned for an index whose name is taken.
	ErrIndexExists = errors.New("index exists")
	// ErrBadIndex is returned for an index without name or without function.
	ErrBadIndex = errors.New("bad index")
	// ErrBadValue is the cause of a [Fault] whose function gave a value that is not equal to
	// itself, such as NaN. Nothing could be found under it.
	ErrBadValue = errors.New("value is not equal to itself")
)

// Options configure an [Indexer]. The zero value works.
type Options struct {
	// Name is put into the errors.
	// Defaults to "".
	Name string
	// Compact, when set, has the store hold objects encoded in memory, and decode what is read.
	// Defaults to nil: objects are held as they are.
	Compact *Compact
	// OnError is told of index functions that failed, by a [*Fault], and of objects that could
	// not be encoded for Compact, by an [*EncodeError]. It is called by the goroutine that wrote,
	// after the write, with no lock held, so from several goroutines at once when there are
	// several writers.
	// Defaults to logging with slog.Default().
	OnError func(error)
}

func (o Options) withDefaults() Options {
	if o.OnError == nil {
		o.OnError = func(err error) { slog.Error("failure in a store", "error", err) }
	}
	return o
}

// Fault reports that an index function failed. The objects that it failed for are stored, and
// are found everywhere but in that index (a panic), or under that value (a bad value).
//
// There is one Fault for each index and write at most: it describes the first object.
type Fault struct {
	// Indexer is the Options.Name of the store.
	Indexer string
	// Index is the name of the index.
	Index string
	// Key names the first object that the function failed for.
	Key listwatch.Key
	// Cause is [ErrBadValue], or what the function panicked with.
	Cause error
	// Stack is the stack of the panic, or nil.
	Stack []byte
	// More is the number of faults that followed in the same write and index.
	More int
}

// Error describes the fault in one line, without the stack.
func (f *Fault) Error() string {
	s := fmt.Sprintf("indexer %s: index %s: object %s: %v", f.Indexer, f.Index, f.Key, f.Cause)
	if f.More > 0 {
		s += fmt.Sprintf(" (and %d more)", f.More)
	}
	return s
}

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Cause }

// panicked makes a cause of a panic's value.
func panicked(value any) error {
	if err, ok := value.(error); ok {
		return fmt.Errorf("panic: %w", err)
	}
	return fmt.Errorf("panic: %v", value)
}

// merge counts the second fault as one that followed the first. Either may be nil.
func merge(first, second *Fault) *Fault {
	if first == nil || second == nil {
		return cmp.Or(first, second)
	}
	first.More += 1 + second.More
	return first
}
