package conformance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed3bce33ad/listwatch"
)

// TB is what a case needs of a test; *testing.T is one.
type TB interface {
	Helper()
	Context() context.Context
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	FailNow()
}

// Case is one check.
type Case struct {
	// Name is fit for the name of a subtest.
	Name string
	// Run makes a fixture, checks one rule, and reports to t.
	Run func(t TB)
}

// State is an object as the suite writes and reads it. Finalizers, Deleted and UID are only
// looked at by [Rules], and by [Cases] as far as the source has them.
type State struct {
	// Key names the object.
	Key listwatch.Key
	// UID is the identity; "" when there is none.
	UID string
	// ResourceVersion is the version of the state; "" on writes: whatever is there.
	ResourceVersion string
	// Value is the contents, which tells two states of one object apart.
	Value string
	// Finalizers keep a deleted object.
	Finalizers []string
	// Deleted is true when the object has a deletion time.
	Deleted bool
}

// Fixture is a collection to be checked, empty at the start, and the means to write to it.
type Fixture[T listwatch.Object] struct {
	// Source is what is checked. Required.
	Source listwatch.ListerWatcher[T]
	// Read reads an object that the source delivered. Required.
	Read func(T) State
	// Create adds an object and returns what was stored. Required.
	Create func(context.Context, State) (State, error)
	// Update replaces an object and returns what was stored. A version and a UID in it are
	// conditions. Required.
	Update func(context.Context, State) (State, error)
	// Delete removes the object of a key. A version and a UID are conditions. Required.
	Delete func(context.Context, State) error

	// UpdateStatus is Update by another way in, for servers that have one. Defaults to Update.
	UpdateStatus func(context.Context, State) (State, error)
	// Seed puts an object there as it is, beside the verbs. Defaults to not being checked.
	Seed func(context.Context, State) error
	// Expire makes all versions older than the newest one too old for lists and watches.
	// Defaults to not being checked.
	Expire func(context.Context) error
	// Bookmark makes running watches send a bookmark soon. Defaults to not being checked.
	Bookmark func(context.Context) error
	// Code returns the HTTP status of a write's error. Defaults to that of the StatusError.
	Code func(error) int
	// Namespaces are where objects may be made; the suite uses the first, and further ones
	// for the order of lists. Defaults to "default".
	Namespaces []string
	// StaysBehind says that the position of a watch may stay behind its events, which bear none
	// then, as of a source that reads several collections and has one version for all of them.
	// That such a position gets on is checked by bookmarks. Defaults to false: a change that was
	// told last can be gone on from.
	StaysBehind bool
	// Deadline is how long to wait for what must come. Defaults to 10 s.
	Deadline time.Duration
	// Close gives the collection back. Defaults to nothing.
	Close func()
}

// validate returns what is missing.
func (f Fixture[T]) validate() error {
	var faults []error
	for name, given := range map[string]bool{
		"Source": f.Source != nil, "Read": f.Read != nil, "Create": f.Create != nil,
		"Update": f.Update != nil, "Delete": f.Delete != nil,
	} {
		if !given {
			faults = append(faults, fmt.Errorf("field %s of the Fixture is required", name))
		}
	}
	return errors.Join(faults...)
}

func (f Fixture[T]) withDefaults() Fixture[T] {
	if f.UpdateStatus == nil {
		f.UpdateStatus = f.Update
	}
	if f.Code == nil {
		f.Code = statusCode
	}
	if len(f.Namespaces) == 0 {
		f.Namespaces = []string{"default"}
	}
	if f.Deadline == 0 {
		f.Deadline = 10 * time.Second
	}
	if f.Close == nil {
		f.Close = func() {}
	}
	return f
}

func statusCode(err error) int {
	var status *listwatch.StatusError
	if errors.As(err, &status) {
		return status.Code
	}
	return 0
}
