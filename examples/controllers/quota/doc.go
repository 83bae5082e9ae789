// Package quota is the controller that counts anew what namespaces use of their quotas.
//
// The API server adds to the status of a quota what a write will use, before it stores the write, so that writes at once don't
// pass it. This controller gives back what has been deleted, or uses less now, and counts for quotas that are new. It follows
// pods and services, and of other kinds the metadata, once a quota bounds them.
//
// A count of the cache may lack what a write has just been charged for. So more is written at once, and less only when the
// quota has stood still for a second, so that whoever was charged has stored his object, and the cache shows all objects that
// the server holds then. A quota that is full stands still, as what it refuses isn't charged. A write that takes longer than
// that second from its charge to its object may be missed: then there is one more than allowed, which is counted.
//
// # Guarantees
//
//  1. What is gone is given back, for pods that have ended too. (TestGivesBack)
//  2. A quota that is new, or is changed, knows what is used of all that it bounds. (TestCounts)
//  3. No more objects come to be than the quota allows, however much the caches lag. (TestNeverPassed, TestCacheBetween)
//  4. Scopes are heeded. (TestScopes)
//
// # Concurrency
//
// Two of it at once harm nothing: a status is only written onto the version that was read.
package quota
