// Package storage keeps the objects of an API server in etcd.
//
// It knows keys, bytes and revisions, nothing of kinds or of HTTP. One revision of etcd is one
// resource version: every write makes one, and a write that changes nothing makes none.
//
// # Usage
//
//	store, err := storage.New(client, storage.Options{})
//	...
//	entry, err := store.Create(ctx, "/pods/default/a", value)
//	page, err := store.List(ctx, "/pods/default/", storage.ListOptions{Limit: 500})
//	err = store.Watch(ctx, "/pods/", storage.WatchOptions{After: page.Revision}, func(b storage.Batch) error { ... })
//
// # Guarantees
//
//  1. All entries of a list, and of the lists that go on with its revision, are of that one
//     revision. (TestListIsOfOneRevision)
//  2. A watch from a revision delivers every later change under its prefix exactly once, in
//     order, while writers go on. (TestWatchEachRevisionOnce)
//  3. A watch whose start has been compacted fails before any event. (TestWatchCompacted)
//  4. A reader that is slow loses nothing and holds a bounded number of events in memory.
//     (TestWatchSlowReader)
//  5. A write that changes nothing uses no revision and makes no event. (TestUpdateNothing)
//  6. Concurrent updates of one key are all applied. (TestGuaranteedUpdateConcurrent)
//
// # Concurrency
//
// A [Store] is safe for concurrent use. A watch has one goroutine of its own, which has ended
// when Watch returns.
//
// # Testing
//
// The package etcd beside this one starts an etcd within the test in a tenth of a second.
package storage
