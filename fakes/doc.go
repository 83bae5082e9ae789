// Package fakes holds what tests of controllers and of sources need: [Source], a versioned
// server in memory with faults to order, and [Recorder], a handler that checks what it is told.
// It is for tests: no code of this module imports it but tests. The suite that checks any source
// against the promises of [listwatch.ListerWatcher] is the package conformance below it.
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
// Faults are ordered by the methods of [Source]: Fail, Cut, CutNext, Drop, Pause, Lag, Compact,
// Restore; delays by [Hooks].
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
// bubble. A benbjohnson/clock Mock in [Options.Clock] is for tests outside of one. What is random
// in the tests of this package is settled by the flag -seed, which they print.
package fakes
