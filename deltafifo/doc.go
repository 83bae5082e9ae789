// Package deltafifo is the queue between a reflector and a store: per key every change in
// order, lossless, bounded, and judged against one view of what the store will hold.
//
// # Usage
//
// One side writes: [DeltaFIFO.Apply] takes what a watch reports, [DeltaFIFO.Begin] opens a list
// in one of three modes. The other side is one loop around [DeltaFIFO.Pop] that writes each
// [Batch] to the store, passing on Head, Force and Mark of each [Delta]:
//
//	queue := deltafifo.New(store, deltafifo.Options{})
//	for {
//		err := queue.Pop(ctx, 0, func(batch deltafifo.Batch[*Pod]) error {
//			return write(store, batch) // an update of another identity is a delete and an add
//		})
//		if err != nil {
//			return err
//		}
//	}
//
// The view of a key is what the store holds, with what is in process and what is queued applied
// to it. "Is it newer", "is it the same identity", "was it listed" are asked of the view, so it
// makes no difference how far the loop has come.
//
// In Compare mode the list is read beside a live watch at position P. A listed state newer than
// P is left to the watch. One at or below P that is newer than the view was missed by the
// watch: drift, which is queued as Replaced when the list is committed and counted in
// [Stats].Drift. A key that was not listed is drift when the watch has reached the list's version
// and the key is still held in a state that is not newer. Versions that cannot be ordered count
// as reached, so the watch must pause meanwhile.
//
// # Guarantees
//
//  1. Every change that Apply took is handed out, in order per key; a key stands where its first
//     change stood. (TestApplyKeepsEverythingInOrder)
//  2. A batch of events is taken whole or not at all, and a part of it does not cover its
//     version. (TestApplyTakesAllOrNothing, TestVersionOfPart)
//  3. Writers wait while Limit deltas beyond the first of each key are queued; a Compare, which waits for
//     nothing, fails then if it would add any. (TestWritersWaitForRoom, TestBound,
//     TestBoundsOfFullQueue, TestCompareOfAFullQueue)
//  4. A delete and a new life that a list shows stay two deltas, in order.
//     (TestReplaceAfterQueuedDelete)
//  5. An object that vanished unseen is deleted once, with its last known state, wherever its
//     last state was: queued, in process or stored. (TestShortLivedObjectIsSwept,
//     TestSweepWhileProcessWrites)
//  6. A list takes a key back to an older state only for a restored server: in Reset mode, or when
//     the list itself proves it. An older list brings nothing back that was deleted. Reset believes
//     bodies, not versions. (TestReset, TestResetComparesBodies, TestAfterRefusalOfARestoredServer,
//     TestRebuild, TestUnseenRestore, TestRebuildBringsNothingBackBeforeItsVersionIsKnown)
//  7. A list of unchanged objects hands out nothing. (TestRelistOfUnchangedIsQuiet)
//  8. Listed states come in listed order, then deletions sorted by key. (TestOrderOfSnapshot)
//  9. A key that was listed is never deleted by that list. (TestListedIsNotSweptWithLiveChange)
//  10. Beside a healthy watch, Compare has no effect; what the watch has missed is repaired and
//     counted, and the watch refused. (TestCompareBesideHealthyWatch, TestCompareRepairsDrift,
//     TestContradictedWatchIsRefused, TestStressHealthyCompare, TestModel)
//  11. The position grows only, but for Reset, which begins an epoch. (TestPosition,
//     TestResetBeginsAnEpoch)
//  12. Version covers what was handed out, and Exact says so only when the store is that version
//     of the collection; Gap stands until what was lost is handed out. (TestExact,
//     TestExactOfMixedBatch, TestGapEndsWithItsRepair, TestModel)
//  13. HasSynced turns true when process has returned from the last key of the first list, never
//     back, and at once for an empty list. (TestHasSyncedWaitsForProcess,
//     TestHasSyncedWaitsForItemInFlightAtCommit, TestSyncedWithoutObjects)
//  14. Nothing is queued again: an error or a panic of process loses no other key and sends none
//     back. (TestNothingIsQueuedAgain)
//  15. After Close what is queued is still handed out. (TestDoneContextAndClosedQueue)
//  16. The queue keeps no delivered object alive, and allocates nothing per event once it has
//     warmed up. (TestDeliveredObjectsAreNotKept, TestSteadyStateDoesNotAllocate)
//  17. Neither lists, nor keys that came and went, nor bursts leave memory behind.
//     (TestBoundsOfRelists, TestBoundsOfChurn, TestBoundsOfCrowd, TestBoundsOfBursts)
//  18. Explain shows what is queued and in flight of a key, and what a comparing list missed.
//     (TestExplainFollowsAKey, TestExplainNamesWhatAComparingListMissed)
//
// # Concurrency
//
// Everything may be called from several goroutines. Process and the objects' getters run without
// the queue's lock. The store is asked under it: the order of locks is the queue's, then the
// store's. The queue has no goroutine.
//
// # Testing
//
// The queue needs no clock and no fakes: with a nil store, or with a map behind the three
// methods of [Store], every step can be made from one goroutine, and process may itself write to
// the queue to try what happens while a batch is in flight. A Pop that waits for work in a
// testing/synctest bubble is durably blocked.
package deltafifo
