// Package cacher keeps one collection of a [storage.Store] in memory, with the last part of its history, for
// lists and any number of watches. It costs etcd one watch, and nobody who reads a queue.
//
// # Usage
//
//	c := cacher.New(store, "/pods/", cacher.Options{Stamp: stamp})
//	running.Go(func() { c.Run(ctx) })
//	err := c.Fresh(ctx)                    // what is read from now on is not older than now
//	page, err := c.List(cacher.ListOptions{Prefix: "default/", Limit: 500})
//	w, err := c.Watch(page.Revision)
//	events, position, more, err := w.Take(100)
//
// # How it is built
//
// The collection is kept equal to etcd by this library's own [reflector.Reflector], which lists, watches, resumes
// and lists again, with a source over the store before it and a sink of this package behind it. The sink is
// not an indexer.Indexer, for three reasons: the API lists in the order of etcd's keys, which needs an ordered
// store; a list must see one revision while writes go on, which a B-tree gives by a copy on write in no time; and
// the history behind the store, from which watches are served, has to move together with it.
//
// The first list is one of the past: the oldest revision that etcd still has, within limits. What happened since
// is then played back by the watch, so that a server that was started again has the history of the one
// before, and its clients go on where they were. Reads wait until the present has been reached.
//
// A watch is a place in the history, which many of them share. What is slow is passed by the history's end
// and told so: it holds no memory, and never skips an event.
//
// # Guarantees
//
//  1. A list is of one revision, in the order of etcd's keys, not older than the last Fresh.
//     (TestListIsOfOneRevision, TestFreshSeesEveryWrite)
//  2. A watch delivers every change behind its start exactly once and in order, or fails.
//     (TestWatchEachRevisionOnce)
//  3. A slow watch is ended, and the history does not grow for it. (TestSlowWatch)
//  4. When the collection had to be read anew, running watches end and older starts are refused: no
//     hole is passed over. (TestReadAnewLeavesNoHole)
//  5. A cache that is started again serves the history from before. (TestHistoryFromBefore)
//  6. The position of a collection that nobody writes advances with etcd. (TestQuietPosition)
//
// # Concurrency
//
// A [Cache] is safe for concurrent use, a [Watch] is for one goroutine. Run has the reflector's goroutines, which
// have ended when it returns.
//
// # Testing
//
// The package etcd beside this one starts an etcd within the test.
package cacher
