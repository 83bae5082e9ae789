package conformance

import (
	"github.com/seed3bce33ad/listwatch"
)

// Cases returns the checks that hold for every [listwatch.ListerWatcher]. fixture is called
// once by each case that is run, in its goroutine, with its t.
//
// What a source may refuse (pages, initial events, exact versions) is checked only as far as it
// is offered; what needs a capability that the fixture lacks says so in the log. A source whose
// events do not always move the position must be described as such by [Fixture.StaysBehind].
func Cases[T listwatch.Object](fixture func(TB) Fixture[T]) []Case {
	return []Case{
		caseOf("ListEmpty", fixture, listEmpty[T]),
		caseOf("ListAll", fixture, listAll[T]),
		caseOf("ListGivesAway", fixture, listGivesAway[T]),
		caseOf("ListKnown", fixture, listKnown[T]),
		caseOf("ListPages", fixture, listPages[T]),
		caseOf("ListPagesOfOneState", fixture, listPagesOfOneState[T]),
		caseOf("ListNotOlder", fixture, listNotOlder[T]),
		caseOf("ListExact", fixture, listExact[T]),
		caseOf("ListFromTheFuture", fixture, listFromTheFuture[T]),
		caseOf("ListErrorFromEach", fixture, listErrorFromEach[T]),
		caseOf("ListCancelled", fixture, listCancelled[T]),
		caseOf("ListExpired", fixture, listExpired[T]),
		caseOf("WatchReplays", fixture, watchReplays[T]),
		caseOf("WatchResumesAnywhere", fixture, watchResumesAnywhere[T]),
		caseOf("WatchFollows", fixture, watchFollows[T]),
		caseOf("WatchDeleted", fixture, watchDeleted[T]),
		caseOf("WatchRecreated", fixture, watchRecreated[T]),
		caseOf("WatchSlowReader", fixture, watchSlowReader[T]),
		caseOf("WatchSideBySide", fixture, watchSideBySide[T]),
		caseOf("WatchErrorFromEach", fixture, watchErrorFromEach[T]),
		caseOf("WatchCancelled", fixture, watchCancelled[T]),
		caseOf("WatchExpired", fixture, watchExpired[T]),
		caseOf("WatchBookmark", fixture, watchBookmark[T]),
		caseOf("InitialEvents", fixture, initialEvents[T]),
		caseOf("InitialEventsEmpty", fixture, initialEventsEmpty[T]),
		caseOf("InitialEventsKnown", fixture, initialEventsKnown[T]),
	}
}
