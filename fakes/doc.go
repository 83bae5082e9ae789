// Package fakes holds what tests of controllers and of sources need: [Source], a versioned
// server in memory with faults to order, and [Recorder], a handler that checks what it is told.
// It is for tests: no code of this module imports it but tests. Below it, the package conformance
// is the suite that checks any source against the promises of [listwatch.ListerWatcher], the
// package wire brings a Source onto the HTTP wire, and the package simulation runs a controller
// under random faults.
//
// # Usage
//
// A source of a test's own objects is made of one function, which copies and stamps:
//
//	pods := fakes.New(func(p *corev1.Pod, s fakes.Stamp) *corev1.Pod {
//		p = p.DeepCopy()
//		p.ResourceVersion, p.UID = s.ResourceVersion, types.UID(s.UID)
//		p.CreationTimestamp, p.DeletionTimestamp = metav1.NewTime(s.Created), nil
//		if !s.Deleted.IsZero() {
//			p.DeletionTimestamp = &metav1.Time{Time: s.Deleted}
//		}
//		return p
//	}, fakes.Options[*corev1.Pod]{Finalizers: (*corev1.Pod).GetFinalizers})
//
//	_, err := pods.Create(pod)
//	i := informer.New(pods, informer.Options{})
//
// For tests that do not care what their objects are there is [Object] with [StampObject]; for
// types that keep a [listwatch.Meta] there is [StampMeta].
//
// A handler's test:
//
//	var rec fakes.Recorder[*corev1.Pod]
//	_, err := i.AddHandler(ctx, rec.Handle, informer.HandlerOptions{})
//	...
//	err = rec.Wait(ctx, 3)
//	rec.Check(t)
//
// A controller that is given its sources as [listwatch.ListerWatcher] is tested in virtual time:
//
//	synctest.Test(t, func(t *testing.T) {
//		pods := fakes.New(stamp, fakes.Options[*corev1.Pod]{})
//		go run(t.Context(), pods)
//		_, err := pods.Create(pod)
//		synctest.Wait() // what follows from it without time passing has happened
//		...
//		pods.Fail(fakes.VerbWatch, fakes.Status(503, "down"))
//		pods.Cut(nil)
//		time.Sleep(time.Minute) // retries are over
//		...
//	})
//
// Delays of a test's own are ordered by [Hooks]. Who changes objects that are shared is found by a
// [Detector] around the source; in a world of package simulation:
//
//	pods := fakes.DetectMutations(source, fakes.DetectorOptions{Report: func(err error) {
//		w.Fail("nobody changes cached objects", "%v", err)
//	}})
//	w.Cleanup(func() { _ = pods.Check() }) // what was delivered last
//
// # Faults
//
// A [Fault] is data: a line of text such as "fail watch 429 n=2 for=5s". It is ordered from
// whatever is [Faulty]: a Source, a [Clock], or the server and the proxy of package wire. A
// [Script] is faults with their times; [RandomFault] and [RandomScript] make them up from a seed.
// Heal ends what lasts: from then on the server behaves, and a right client comes to equal it.
//
//	err := pods.Inject(fakes.Fault{Kind: fakes.FaultDown, Code: 503, For: time.Minute})
//	script, err := fakes.ParseScript("at 5s drop n=3\nat 1m half-open")
//	err = script.Play(ctx, nil, pods)
//
// The methods Fail, Cut, CutNext, Drop, Bookmark, Pause, Lag, Compact and Restore of a Source are
// the same where a test wants an error of its own or a version rather than a number. This is what
// there is; the comment of each [FaultKind] says more.
//
//	kind             what the client sees                       what it must do
//	fail             a status, no answer, an ERROR event        try again there, after the hint or a pause
//	error            a watch breaks, or an ERROR event          go on from the last version; list after ERROR
//	cut              a watch ends cleanly                       watch again from the last version
//	down             all of that for a while                    the same, with pauses that grow
//	hang             silence; timeouts of the server go on      give up what makes no progress
//	half-open        silence for ever on what runs              the same, by a deadline of its own
//	slow             batches come late                          wait
//	drop             nothing: a change is never told            list from time to time beside the watch
//	garbage          an object that cannot be decoded           take the others, keep what is held, list
//	nameless         one that does not tell its key             the same, and take nothing for deleted
//	wrong-kind       one of another kind                        as garbage
//	oversize         one over its size limit                    as garbage
//	unknown-event    an event of no known type                  list: what happened is not known
//	no-bookmarks     no bookmarks                               list when its version has expired
//	late-bookmark    a bookmark older than its position         never go back
//	repeat-bookmark  the same bookmark again                    nothing
//	partial-list     a list breaks behind some objects          conclude nothing from what is missing
//	repeat-page      objects listed twice                       take them once
//	short-pages      small and empty pages                      go on until there is no token
//	expire-tokens    410 in the middle of a list                list anew
//	compact          410 for its version                        list what is not older than that
//	restore          versions that go back                      find out, then believe the server
//	lag              an old state, 504 too large, silence       ask for what is not older, come again
//	jump             a wall clock that goes wrong               time nothing by it
//	cut-bytes        an answer that breaks at any byte          take whole objects alone, try again
//	garbage-bytes    bytes that mean nothing                    the same
//	late-headers     headers held back                          wait
//	goaway           a connection that takes no more requests   connect anew
//	black-hole       a connection where nothing passes          find out by a deadline or a ping
//	reset            a connection reset                         connect anew, go on
//	refuse           connections refused                        the same, with pauses that grow
//	throttle         few bytes a second                         wait as long as there is progress
//
// Heal does not bring back a connection that is half open: a client sees nothing on it until its own
// deadline, or a list beside the watch, ends it. With the defaults of this library that takes up to
// 50 minutes after Heal, so a test that wants to see it converge has to wait that long.
//
// [HonestFaults] are those under which no data is lost: what a controller promises of its own writes
// can be kept under these alone.
//
// # What the library was tried under
//
// Faults are what the guarantees of this library are for. For each of them: tests that prove it, and
// under which faults. Beside them fakes/simulation.TestSimulation tries all under all kinds of fault,
// over a Source and over HTTP, and fakes.TestConverges and fakes/wire.TestConverges the first one
// under each kind alone.
//
//  1. Convergence: informer.TestFailuresOfAnyShape, informer.TestHourlyRelistRepairsSilentLoss,
//     informer.TestServerThatBeginsEachWatchAnew, informer.TestVersionsWithoutOrder,
//     reflector.TestWatchesThatNeverWork. Under fail and error of any code, cut, down, drop, compact, hang.
//  2. No time travel: informer.TestStaleReplicaIsNotShown, informer.TestRestoredServer,
//     informer.TestRestoreInTheMiddleOfACompare, informer.TestBookmarkFromTheFuture,
//     deltafifo.TestResetComparesBodies. Under lag, restore to versions that are used again, late-bookmark.
//  3. Cache before handler: informer.TestCacheBeforeHandler, deltafifo.TestExactOfMixedBatch. Under
//     events without a position, and whatever comes in one batch.
//  4. One voice: informer.TestHandlerComesAtAnyMoment, informer.TestResyncAtTheMomentOfADelete.
//     Under cut, short-pages, handlers that block or come late.
//  5. No delete is lost: informer.TestUnknownDeletePassesAllLayers, informer.TestFirstReadBreaksOff,
//     deltafifo.TestAfterRefusalOfARestoredServer. Under drop, error before the end mark, garbage, restore.
//  6. Identities: informer.TestNewIdentityIsDeleteAndAdd, deltafifo.TestUnseenRestore. Under drop,
//     cut, restore.
//  7. Quiet relist: informer.TestQuietRelist, informer.TestRelistNeverPassesThroughEmpty,
//     deltafifo.TestListOfWhatLostItsVersion, reflector.TestPeriodicListBesideAWatch. Under compact,
//     repeat-page, nameless.
//  8. Synced means delivered: informer.TestSyncedMeansDelivered, informer.TestHandlerComesAtAnyMoment.
//     Under partial-list, error before the end mark, late handlers.
//  9. Bounded: informer.TestBoundsOfBlockedHandlers, informer.TestBoundsOfAWeek,
//     informer.TestBoundsOfFirstListInVain, reflector.TestRefusalsAreToldInBounds,
//     workqueue.TestBoundsByKey. Under handlers that block, a week of cut and compact, garbage.
//  10. Own faults: informer.TestPanicOfAHandlerStaysItsOwn, informer.TestResyncGoesOnAfterAPanic.
//     Under handlers and indexes that panic, block or end their goroutine.
//  11. Position kept: reflector.TestStories, reflector.TestNewsInNoTimeIsPaced,
//     reflector.TestCircleOfPages, informer.TestEndlessRetryAfter. Under cut, fail and error of any
//     code with any hint, expire-tokens, repeat-bookmark, no-bookmarks.
//  12. Never frozen: reflector.TestWatchesThatNeverWork, reflector.TestLifeOfAStream,
//     reflector.TestProgressOfAList, reflector.TestListIsGivenUpWhenTheClockGoesBack,
//     reflector/rest.TestDeadHTTP2Connection. Under hang, half-open, slow, black-hole, jump.
//  13. Nothing left behind: informer.TestRunWaitsForHandlers, informer.TestStopsWhileTheSourceHangs,
//     reflector.TestSupersededCompareEndsLate. Under half-open, and ends at any moment.
//  14. One worker: workqueue.TestModel, workqueue.TestClockIsSet. Under jump, steps that fail or panic.
//  15. Own writes: informer.TestStepIsParkedUntilTheCacheShowsItsWrite, informer.TestOverlayOfARestoredServer,
//     fakes/simulation.TestControllerWithOverlayNeverOverCreates. Under slow, hang, cut, restore.
//  16. Untrusted input: informer.TestRefusedAfterARestore, reflector.TestRefusalsAreToldInBounds,
//     reflector/rest.TestTooLargeEvent. Under garbage, nameless, wrong-kind, oversize, unknown-event,
//     garbage-bytes.
//
// # Guarantees
//
// A [Source] promises:
//
//  1. It keeps every rule of [listwatch.ListerWatcher] and of writes to a Kubernetes API server
//     that the package conformance checks (TestSourceConformance).
//  2. Each write that changes something makes one version, others none; the version of a
//     collection is never "" or "0" (TestAgainstModel, TestUpdateWithoutChange, TestEmptyCollection).
//  3. Any version that is held can be listed, by pages of any size, and a watch from it leads to
//     the newest state (TestAgainstModel, TestListPages).
//  4. A version that is not held any more fails before any event (TestCompactedWatch).
//  5. It never keeps what it was given nor gives away what it keeps (TestGivesAndTakesCopies).
//  6. Neither each nor a hook is called under its lock (TestEachMayCallTheSource, TestHooksAndFuncs).
//  7. A slow watch delays nobody and costs nothing; it is ended when its place in the history is
//     gone (TestSlowWatch, TestHistoryIsBounded).
//  8. It has no goroutine, and forgets watches that have ended (TestWatchesThatEnd).
//  9. Under a fault it breaks no other promise than the one that the fault speaks of; once healed it
//     breaks none, and an informer comes to equal it (TestConverges, TestFaultsRace).
//
// A [Fault] and a [Script] promise:
//
//  1. Text and data are the same thing, and one seed always makes one script (TestFaultText,
//     TestFaultKinds, TestScriptText, TestRandomScript).
//  2. A fault that is not known or makes no sense is refused, never half done
//     (TestFaultTextThatIsNone, TestFaultTakes).
//
// A [Recorder] promises:
//
//  1. It finds calls that overlap, are out of order, repeat themselves, go back in time, or do
//     not follow from what was told before (TestRecorderChecks, TestRecorderHold).
//  2. Waiting for changes neither polls nor sleeps (TestRecorderWaits).
//
// # Concurrency
//
// All methods of both types are safe for concurrent use. Lists and watches run in the
// goroutine of their caller; timers are the clock's.
//
// # Testing
//
// In a testing/synctest bubble the default clock is virtual time: make the source inside of the
// bubble. Faults that last end by that clock. A benbjohnson/clock Mock in [Options.Clock] is for
// tests outside of one. What is random in the tests of this package is settled by the flag -seed,
// which they print.
package fakes
