// Package leader lets one of several act at a time: whoever holds a Lease. It is on speaking terms with the leader election of
// client-go, whose records it reads and writes, and needs nothing of client-go's caches.
//
// # Usage
//
//	err := leader.Run(ctx, leader.Options{Cluster: cluster, Namespace: "kube-system", Name: "my-controller", Identity: host},
//		func(ctx context.Context) error { return work(ctx) })
//
// A term ends when the lease could not be renewed in time, or somebody else has it: the context of lead is done then, and when
// lead has returned Run goes on as a candidate. So lead must leave nothing behind that acts, and begin each term with caches of
// its own.
//
// # Guarantees
//
//  1. No two lead at once, whatever happens to connections, as long as lead returns within LeaseDuration - RenewDeadline of the
//     end of its context, clocks run about equally fast, and nobody deletes the lease. What time it is on another machine
//     doesn't matter: a candidate counts from when it saw the lease change. (TestNeverTwo, TestAnsweredLate)
//  2. When a leader ends, it gives the lease back, and the next one leads at once; when it dies, after LeaseDuration.
//     (TestHandedOver, TestGivesBackUnheard, TestDies)
//  3. A leader whose renewals fail ends its term RenewDeadline after it has sent the last one that was answered. (TestCutOff)
//  4. A lease that was deleted, or written by others, is no reason to fail. The leader makes a deleted one anew as soon as it
//     hears of it, and who knew the old one waits for that; a candidate that never saw it may take its place before, and both
//     lead until the old leader asks. (TestDeleted, TestTaken, TestOdd)
//  5. client-go's candidates and these heed each other. (TestWithClientGo)
//
// # Concurrency
//
// Run blocks and leaves no goroutine. It may be called many times at once, with other identities or other leases.
package leader
