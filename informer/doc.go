// Package informer keeps a store equal to a collection on a server, and tells handlers what
// changes.
//
// # Usage
//
// An [Informer] is a reflector, a queue and a store put together. Make it of any
// listwatch.ListerWatcher, run it, and read its store:
//
//	pods := informer.New(source, informer.Options{Name: "pods"})
//	go pods.Run(ctx)
//	if err := pods.WaitForSync(ctx); err != nil {
//		return err
//	}
//	pod, ok := pods.Indexer().Get(listwatch.Key{Namespace: "default", Name: "web"})
//
// [Informer.AddHandler] registers a function that is told each [Change]; [Enqueue] registers one
// that puts keys into a work queue, which is the first half of a controller. A [Factory] runs
// many informers as one.
//
// A step that has written must not decide by a store that does not show it yet. It parks its key
// until the store does, with the signal of [Informer.Reached] as workqueue.Result.Await; or it
// reads through an [Overlay], which shows own writes at once.
//
// What goes on inside tell [Informer.Health] and [Informer.Stats], along the whole line of one key
// [Informer.Explain], and to a browser [DebugHandler].
//
// Objects in the store and in changes are shared: they must not be changed. Package fakes has
// a detector for that.
//
// With Options.Index.Compact the store holds objects encoded, in about a tenth of the memory:
//
//	pods := informer.New(source, informer.Options{Index: indexer.Options{Compact: &indexer.Compact{}}})
//
// Everything works as without it, with these differences. The same state may be read as another
// copy, so pointers tell nothing; versions do. Handlers are told real objects: new states as they
// were received, old ones decoded for them unless there is no handler, initial adds and resyncs
// decoded when their turn has come. What waits for a handler that is behind is held decoded. A
// mutation detector sees only what its source has handed out.
//
// # Guarantees
//
//  1. Convergence: once changes stop and the server answers, the store equals the collection
//     (TestSimulation, TestHourlyRelistRepairsSilentLoss, TestServerThatBeginsEachWatchAnew,
//     TestVersionsWithoutOrder, TestFailuresOfAnyShape, TestFirstReadBreaksOff).
//  2. No time travel: the states that a handler or a reader sees of a key are a subsequence of
//     the server's; only a restored server begins a new epoch (TestSimulation, TestRestoredServer,
//     TestRestoredToTheSameVersions, TestRestoreInTheMiddleOfACompare, TestBookmarkFromTheFuture).
//  3. Cache before handler: when a handler is told, the store and every index show that state
//     or a later one (TestCacheBeforeHandler).
//  4. One voice: calls of one handler never overlap; for each key they are in order: add,
//     updates, delete (TestHandlersAddedWhileRunStarts, TestSimulation).
//  5. No delete is lost: an object that vanished unseen is told deleted, marked Unknown
//     (TestUnknownDeletePassesAllLayers).
//  6. A new identity is not an update: it arrives as delete and add (TestNewIdentityIsDeleteAndAdd).
//  7. Quiet relist: a list of unchanged objects calls no handler and replaces no pointer, and
//     readers never see a half-filled store (TestQuietRelist, TestRelistNeverPassesThroughEmpty).
//  8. Synced means delivered: a registration is synced when its handler has returned from the
//     last initial add (TestSyncedMeansDelivered, TestEmptyCollectionSyncsAtOnce).
//  9. Bounded: a blocked handler costs memory in the number of keys; under EveryEvent its
//     backlog. Lists, watches and handlers that have ended cost none, and what was told or
//     replaced is garbage (TestBlockedHandlerIsFoldedPerKey, TestBlockedHandlerHoldsFewObjects,
//     TestBoundsOfBlockedHandlers, TestBoundsOfFirstListInVain, TestEveryEventEndsWithOverrun,
//     TestBoundsOfRelists, TestBoundsOfAWeek, TestBoundsOfHandlersThatGo,
//     TestIdleInformerHoldsNoOldObject, TestBoundsOfIdleInformers,
//     TestBoundsOfMemoryAfterTheFirstList).
//  10. A fault of a handler, of an index or of OnError stays its own, and is heard without any
//     lock (TestPanicOfAHandlerStaysItsOwn, TestHandlerThatEndsItsGoroutine, TestOverrunIsHeard,
//     TestFaultOfAnIndexIsHeard, TestPanicsOfOnErrorAreSurvived,
//     TestPanicOfASignalFunctionIsSurvived).
//  11. A late handler gets its own initial adds and misses nothing, whenever and wherever it comes
//     from (TestLateHandlerMissesNothing, TestHandlerComesAtAnyMoment).
//  12. Nothing left behind: when Run has returned, no goroutine, timer or callback lives on, and
//     nothing holds the informer (TestRunWaitsForHandlers, TestStopsWhileTheSourceHangs,
//     TestEndedRegistrationLeavesItsContext, TestStoppedInformerIsGarbage).
//  13. Own writes are seen: a signal fires when the store has reached a version, not before, and
//     however many are waited for (TestReachedFollowsEventsAndBookmarks, TestReachedIsBounded,
//     TestReachedOfOpaqueVersionsThatWerePassed, TestStepIsParkedUntilTheCacheShowsItsWrite,
//     TestGapInWhichNothingIsLeft).
//  14. An overlay shows own writes at once, nothing that the store knows to be over, and says when
//     it has lost one; its memory is bounded (TestOverlayShowsOwnWrites,
//     TestOverlayNeverGoesBehindTheCache, TestOverlayIsNotBehindTheStoreWithinABatch,
//     TestOverlayBeforeHandler, TestOverlayBeforeRunningHandler,
//     TestOverlaySaysWhatItHasLost, TestGapKeepsOwnWrites, TestOverlayIsBounded,
//     fakes/simulation.TestControllerWithOverlayNeverOverCreates).
//  15. An explanation is true of the moment: what a handler was told and what it shows to be waiting
//     lead to what the store holds. A refused key is named by Health and Explain until a state of
//     it is taken (TestExplainIsTrueAtEachStep, TestExplainAtRest, TestExplainShowsTheQueue,
//     TestExplainBesideEverything, TestRefusedKeyIsNamed).
//  16. The debug page only reads, shows no object that was not asked for, takes no name for
//     anything else, and asks nothing of anybody; who does not mount it does not link it
//     (TestDebugOnlyReads, TestDebugHidesObjects, TestDebugPageIsEscaped,
//     TestDebugListsNoMoreThanItsLimit, TestDebugPageInABrowser,
//     internal/project.TestNobodyLinksTheDebugPage).
//  17. With Index.Compact all of this holds, but for pointers: every test runs over both. What a new
//     handler or a resync tells is decoded when its turn has come (TestCompactTellsALateHandler,
//     TestCompactResync, fakes/simulation.TestSimulationOverCompactStores).
//
// # Concurrency
//
// All methods may be called from any goroutine, also from inside handlers; none waits for a
// handler but Run at its end and [Factory.Stop]. Index functions alone must not call the
// informer, only read its store. A function that calls runtime.Goexit ends the registration when
// a handler calls it, and the informer when Run does. Run uses its own goroutine and one for the
// source; each handler has one for as long as something is pending for it.
//
// # Testing
//
// Use package fakes for a server in memory and a handler that checks what it is told, and
// testing/synctest for time: the default clock is virtual in a bubble.
package informer
