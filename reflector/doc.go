// Package reflector keeps a sink equal to a source: it lists, watches from the list's version,
// and goes on from there after whatever fails.
//
// # Usage
//
//	r := reflector.New[*Pod](source, sink, reflector.Options{Name: "pods"})
//	err := r.Run(ctx) // blocks until ctx is done
//
// The source is a [listwatch.ListerWatcher], the sink usually a *deltafifo.DeltaFIFO. Sources
// list and watch; they never retry and know nothing of positions. Paging is the reflector's,
// too: a source passes the limit and the token of [listwatch.ListOptions] on as they are, and
// the token of the answer back.
//
// What is asked for: the first list streams when the source offers it, else it comes in pages
// of the latest state. Later lists are not older than the last version, nor than any state that was
// brought, so that servers answer them from memory; the latest state is asked for again only when
// that version is unknown to the server. Options.FirstList can ask for any state instead, which may be older than one
// seen by an earlier process: the zero value never does.
//
// How failures are answered:
//
//   - a watch that ends, is reset, refused or timed out is taken up from the last version, with
//     a pause unless it has brought news or lived for a second;
//   - 429 waits for the server's hint, if that is longer than the pause, but an hour at most;
//   - 401, 403 and 404 are tried again where they were met, with a pause;
//   - 5xx, and watches that end at once without news, the same for [Options].ServerErrorsBeforeList;
//     then a list follows;
//   - when the periodic list is due and nothing shows that the watch works, an ordinary list takes the
//     watch's place: it repairs also what a watch that is denied, or dead, will never tell;
//   - an expired version (410 in any form) brings a list not older than it, any other ERROR
//     event a list after a pause;
//   - two watches in a row without a sign of life bring a probe: a server that was restored is
//     silent on a watch from its future. A latest list older than the position proves the
//     restore; it is read once more and believed. When the versions are past the position by
//     then, the sink tells from objects that are listed in older states than it holds;
//   - an event that cannot be taken, or goes back, is a gap: reported once, and repaired by a
//     comparing list beside the watch once the position has passed it. When the watch ends before that, an
//     ordinary list takes its place;
//   - when a comparing list shows what the watch should have told, or contradicts it, the sink refuses what
//     that watch tells next, and another goes on from the position;
//   - an answer that cannot be taken at all, twice at one version, brings a list.
//
// # Guarantees
//
//  1. The position moves only after the sink has taken the batch; every failure but a real
//     expiry resumes from it, without a list. (TestStories)
//  2. The position never goes back but by a restore that the server has shown twice. (TestStepListing,
//     TestSimulation)
//  3. Once changes stop and the server answers, the sink equals the server. (TestSimulation)
//  4. A comparing list changes nothing when nothing was lost, and one that was superseded nothing
//     at all. (TestSimulation, TestSupersededCompareEndsLate)
//  5. Pages of two versions are never joined, and a list that announces more than it brings is
//     not taken for whole. (TestStepListing)
//  6. No answer of a server makes it send requests round and round without a pause; only an event
//     that is new lets the next watch begin at once. (TestNothingSpins, TestNewsInNoTimeIsPaced,
//     TestCircleOfPages, TestStubbornServerIsPausedFor)
//  7. A relist never takes anything from the sink before it is complete. (TestRelistNeverEmptiesTheSink)
//  8. A watch is given up at its timeout plus the slack, a list or initial stream when it makes
//     no progress; the time that the sink takes does not count. (TestBlockedSinkIsNotADeadServer)
//  9. A panic or an error of source, sink or OnError is a failure like any other. (TestStories,
//     TestPanicOfOnErrorCounts)
//  10. A done context ends whatever it waits for at once. (TestStopDuringBackoff)
//  11. A source that ignores its context is abandoned after a grace, and its later callbacks
//     are refused; everything else has ended when Run returns. (TestListThatIgnoresItsContextIsAbandoned)
//  12. Idle, it costs one goroutine beside the caller of Run, the one inside Watch.
//     (TestIdleCostsOneGoroutine)
//  13. Pauses are by the injected clock alone, and one that is set back prolongs no deadline by more
//     than itself. (TestInjectedClockDrivesRetries, TestListIsGivenUpWhenTheClockGoesBack)
//  14. Where lists work and watches don't, the sink follows by lists: after ServerErrorsBeforeList, or at
//     the latest the second time that Relist is due, two minutes if it is more often. A watch that says
//     a word a minute is left alone. (TestWatchesThatNeverWork, TestFrequentListsBesideAQuietWatch)
//  15. What it remembers of failures does not grow with them. (TestBoundsOfFailures,
//     TestRefusalsAreBounded)
//  16. A refused object is named by Health until a state that is not older was taken, or a list
//     that could show it did without it. (TestRefusalStandsWhateverCameBeforeIt,
//     TestRefusalWithoutVersionStandsUntilItsGapIsMended, TestRefusalStandsAfterAListThatIsOlder,
//     TestRefusalStandsAfterAListThatFails, TestRefusalComesBackWithTheEvent,
//     TestRefusalEndsWithTheEpoch)
//
// # Concurrency
//
// The decisions are a pure state machine without clock, goroutine or object type (machine.go).
// One goroutine, the loop, turns its effects into calls and the outcomes into its inputs, and
// is the one that the source calls back in. A second one lives while a comparing list does.
// When a call of the source is abandoned, the loop moves to a new goroutine.
//
// The sink's Apply may run at the same time as a comparing snapshot is filled, but never
// beside one of another mode. OnError runs in the goroutine that met the failure.
//
// # Testing
//
// The machine is tested by tables, the shell by stories: scripts in testdata with what the
// source answers and the log that must come of it, in virtual time. The simulation drives it
// between the server of package fakes and the real queue and store: its seed is printed, and
// -seed runs one again. In tests of your own give it a scripted [listwatch.Funcs], or a
// fakes.Source, and a bubble of testing/synctest instead of a clock.
package reflector
