// Package deployment is the controller that leads from one template of pods to the next, by a ReplicaSet for each.
//
// # Usage
//
//	c, err := deployment.New(env)
//	...
//	err = c.Run(ctx)
//
// A step looks at the replica sets of a deployment, own writes included, and does the next thing that is allowed: it
// makes the set of the present template, makes it larger, or makes an older one smaller. What comes of it comes back as
// a change of a set.
//
// # Guarantees
//
//  1. A new template comes to all pods, the old ones go, and kubectl rollout status knows when. (TestRollingUpdate)
//  2. While replicas stay the same there are never more pods than maxSurge allows, and what has been available stays so
//     but for maxUnavailable. A pod whose creation was not answered, as the connection broke, may be made twice; then one
//     goes again. (TestRollingUpdate, TestChurn)
//  3. With Recreate no new pod is made before the last old one is gone. (TestRecreate)
//  4. A template that was there before gets its old set, under a new revision: kubectl rollout undo. (TestRollback)
//  5. A paused deployment is scaled, but not led on. (TestPaused)
//  6. No more old sets are kept than revisionHistoryLimit says. (TestRollback)
//  7. A rollout that gets nowhere is said to have exceeded its deadline, once it has. (TestProgressDeadline)
//  8. A set of another under the name that is wanted is left alone, and another name taken. (TestCollision)
//
// # Concurrency
//
// What New returns runs once. Several keys are worked on at a time.
//
// # Testing
//
// The tests run against the reference API server in the same process, with a stand-in for kubelets.
package deployment
