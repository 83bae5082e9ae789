package listwatch

import "strconv"

// EventType says what an [Event] reports.
type EventType uint8

// The types of event that a watch delivers. The zero value is none of them.
const (
	// Added: the object exists, and was not there before as far as this watch knows.
	Added EventType = iota + 1
	// Modified: the object has a new state.
	Modified
	// Deleted: the object is gone, or has left what the watch selects. Object is its last state.
	Deleted
	// Bookmark: nothing changed up to ResourceVersion. Object is not looked at.
	Bookmark
	// Synced: the initial events that [WatchOptions.InitialEvents] asked for are complete as
	// of ResourceVersion. Object is not looked at.
	Synced
)

// String returns the name of the type, such as "Added".
func (t EventType) String() string {
	switch t {
	case Added:
		return "Added"
	case Modified:
		return "Modified"
	case Deleted:
		return "Deleted"
	case Bookmark:
		return "Bookmark"
	case Synced:
		return "Synced"
	}
	return "EventType(" + strconv.Itoa(int(t)) + ")"
}

// Event is one message of a watch.
type Event[T Object] struct {
	// Type says what happened.
	Type EventType
	// Object is the new state, or for Deleted the last one.
	Object T
	// ResourceVersion is the position that the watch has reached with this event: the
	// version from which a later watch goes on behind it. For Deleted it is the version of
	// the deletion, which is newer than the object's own. Empty: the position does not move.
	ResourceVersion string
}

// Mode says how a sink reads a [Snapshot].
type Mode uint8

// The modes of a snapshot.
const (
	// Rebuild is for a list taken while no watch is alive: newer states are applied, and what
	// was not listed and is not newer than the list is deleted.
	Rebuild Mode = iota + 1
	// Compare is for a list taken beside a live watch: it repairs only what the watch must
	// have missed, which is counted as drift. Without drift it has no effect.
	Compare
	// Reset is for a list of a restored server, whose versions have gone back: every listed
	// state is believed.
	Reset
)

// String returns the name of the mode, such as "Rebuild".
func (m Mode) String() string {
	switch m {
	case Rebuild:
		return "Rebuild"
	case Compare:
		return "Compare"
	case Reset:
		return "Reset"
	}
	return "Mode(" + strconv.Itoa(int(m)) + ")"
}
