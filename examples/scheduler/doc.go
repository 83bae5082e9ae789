// Package scheduler gives pods to nodes.
//
// # Usage
//
//	err := scheduler.Run(ctx, scheduler.Options{Cluster: cluster})
//
// It reads pods and nodes through informers. A handler of each tells package placement what there is; another puts the
// keys of pods that want a node into a work queue. A step of the queue looks at its pod as the cache has it, has placement
// choose a node, where the pod counts from then on, and binds it. A pod that fits nowhere gets an Event and a condition
// that say why; its key is parked until something happens that may help, and then for as long as a failure has it wait.
//
// # Guarantees
//
//  1. A pod without a node is bound as soon as one will do; what happens during an attempt is not missed.
//     (TestBindsPods, TestWaitsForANode, TestWaitsForRoom)
//  2. What was chosen counts until it is seen, or could not be bound; another scheduler may take over at any time.
//     (TestBindingFails, TestRestart)
//  3. A pod that was deleted unseen leaves its room, though the last that was seen of it has no node.
//     (TestDeletedUnseen)
//  4. Pods of a higher priority come first. (TestPriority)
//  5. A pod that can't be placed says why. (TestSaysWhyNot)
//
// # Concurrency
//
// [Run] blocks. Two schedulers of one name in a cluster harm nothing, as the server binds a pod once, but may give away
// more than a node has.
//
// # Testing
//
// The tests run against the reference API server in the same process.
package scheduler
