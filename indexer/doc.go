// Package indexer holds objects by key, and finds them by values of any comparable type.
//
// # Usage
//
// [New] makes an [Indexer], the side that writes. Its [Reader] is what an informer hands out: it
// reads, and adds indexes, but cannot write.
//
//	byNode, err := indexer.AddIndex(pods.Indexer(), "node", func(p *Pod) []string { return []string{p.Node} })
//	...
//	for key, pod := range byNode.All("node-1") {
//
// An index is added at any time and is typed: by a string, a [net/netip.Addr], a struct. The
// index by namespace is always there: [Reader.Namespace], [Reader.Namespaces].
//
// What comes from a source is written by [Indexer.Apply], which never goes back in versions.
// [Indexer.Put], [Indexer.Delete] and [Indexer.Replace] are for stores that are filled by hand.
//
// A store larger than the memory for it is made with Options.Compact: objects are held encoded, in
// about a tenth of their memory, and decoded when they are read; see [Compact]. Reads of many that
// need few of the objects go through [Reader.States] or [Index.States].
//
// # Guarantees
//
//  1. A write whose version is not newer changes nothing, unless it is forced; nor does a delete
//     of another identity than the one held, unless its version is newer. (TestApplyRules)
//  2. Versions that can't be ordered are taken as they come. (TestApplyRules)
//  3. What is written again in the same state keeps its pointer; in a compact store, its encoded
//     state. (TestReplaceIsQuiet)
//  4. A batch is one change: every read, of whatever kind, is of one state, before or after it,
//     and a store that is replaced is never seen half-filled. (TestReadersSeeWholeStates)
//  5. The writes of a batch take effect in order. (TestApplyBatchIsOneChangeInOrder)
//  6. An index equals one that is built anew, whatever was written. (TestRandomWalkEqualsRebuild,
//     TestIndexFollowsTheValuesOfAnObject)
//  7. An index that is added late has what was there before. (TestAddIndexBeforeAndAfter)
//  8. Keys that left and values without objects leave nothing behind.
//     (TestIndexKeepsNothingOfPastValues, TestBoundsByKey, TestBoundsOfChurn, TestBoundsOfValues)
//  9. Index functions run once for each object received, and never while a reader has to wait.
//     Apply, Put and Delete run them beside one another.
//     (TestIndexFunctionRunsOncePerReceivedObject)
//     (TestReadersDoNotWaitForAnIndexFunction, TestWritersDoNotWaitForAnIndexFunction)
//  10. When an index function panics, the object is stored, and the fault is reported and
//     counted. (TestPanicOfAnIndexFunction)
//  11. A value that could not be found again, such as NaN, is refused and reported; who asks for one
//     that is no key of a map gets a panic, and leaves no lock behind. (TestValuesThatCannotBeFound,
//     TestIncomparableValueLeavesNoLock)
//  12. The body of a loop over All or Values runs without a lock and may write.
//     (TestIterationMayWrite)
//  13. An update with the index values of before allocates nothing, when the functions don't.
//     (TestUpdateAllocatesNothing)
//  14. Explain shows the version, mark and index values of one object. (TestExplainFollowsAnObject)
//  15. A compact store does all this, too, but that its writers wait for one another and that an
//     update allocates: every test runs over both. What it reads is equal to what was written; it
//     may be another copy once others were read or written.
//     (TestRandomWalkOverEncodedObjects, TestCompactReads, TestBoundsOfCompact)
//  16. It decodes only what somebody asks for, and never while a reader has to wait for it. It keeps
//     no more than Recent objects decoded.
//     (TestCompactDecodesNothingInVain, TestCompactDecodesWithoutLock, TestCompactKeepsRecent)
//  17. A read of everything does not push out what is asked for one by one.
//     (TestCompactListKeepsNothing)
//  18. An object that can't be encoded, or would lose something, is held as it is, and that is
//     reported and counted. (TestCompactKeepsWhatItCannotEncode, FuzzCompact)
//
// The first write of a collection is no exception: before a source has been listed completely,
// a reader sees what has been written so far.
//
// # Concurrency
//
// All methods are safe for concurrent use. Readers and other writers wait for a writer only while
// it puts a batch in place, not while it runs index functions; so two writers may run the same
// function at the same time. Replace and those who add or remove an index have other writers
// wait for all of their call. An index function may read the store; it must not write to it, nor
// add or remove an index: it would wait for itself.
//
// Writers of a compact store wait for one another. What is said of index functions is true of Compact's
// Encode, and of its Decode while objects are encoded; a Decode for a reader runs in that reader's
// goroutine, without a lock.
//
// Objects are shared by all who read them and must not be changed.
//
// # Testing
//
// An Indexer needs no source: fill one with Put and hand its Reader to what is to be tested. It
// starts no goroutine and needs no closing.
package indexer
