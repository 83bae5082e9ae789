// Package nodelifecycle is the controller that watches over nodes: it says of one whose kubelet is not heard of that its
// state is unknown, keeps pods away from nodes that are not ready, and in the end takes them from there.
//
// # Usage
//
//	controller, err := nodelifecycle.New(env)              // the usual times
//	controller, err := nodelifecycle.Options{Grace: time.Second}.New(env)
//
// A kubelet renews the lease of its node's name. The controller goes by when it has seen a renewal, not by what the
// kubelet's clock says. Nothing is polled: a key comes back by a change, or when the next time is over.
//
// # Guarantees
//
//  1. A node that is silent for the grace gets the state Unknown, and its pods are not ready. (TestLost)
//  2. A node that is not ready has the taints that say so, NoSchedule and NoExecute; one that is ready again has not, and
//     keeps those of others. (TestLost, TestReady)
//  3. Pods go when they have borne such a taint for as long as they tolerate it. (TestEvicts)
//  4. Pods of a node that is no more are deleted when the grace is over, and the server says so too. (TestNodeIsNoMore)
//  5. A lease that is deleted and made anew is a renewal. (TestLeaseMadeAnew)
//
// # Concurrency
//
// One of it should run at a time; see examples/leader.
package nodelifecycle
