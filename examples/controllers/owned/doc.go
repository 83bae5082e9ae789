// Package owned is how a controller reads and writes what belongs to the objects that it works for: the pods of a
// replica set, the replica sets of a deployment.
//
// # Usage
//
//	pods, err := owned.New(env, owned.Options[*corev1.Pod]{Name: "replicaset", Informer: all, Kind: "ReplicaSet"})
//	...
//	defer pods.Again(queue, key) // a step that has seen own writes comes again when the cache has them
//	if !pods.Whole() {
//		return workqueue.Result{}, nil
//	}
//	mine, err := pods.Claim(ctx, owner, selector)
//	err = owned.Batches(missing, func() error { _, err := pods.Create(ctx, pod); return err })
//
// A step sees what it has written at once, however far the cache is behind, so nothing is expected and no time is waited:
// see informer.Overlay.
//
// # Guarantees
//
//  1. What was created is counted and what was deleted is not, before the cache knows.
//     (package replicaset has TestInformerIsLate)
//  2. What came and went unseen is not counted for ever. (package replicaset has TestPodsComeAndGoUnseen)
//  3. Only an owner that is there, by its UID, and is not being deleted gets anything. (TestClaim)
//  4. No more than one request fails in vain, and then no more are tried, when none can succeed. (TestBatches)
//
// # Concurrency
//
// Everything is safe for concurrent use, as long as one owner is worked on in one place at a time.
//
// # Testing
//
// The tests run against the reference API server in the same process; see package controltest.
package owned
