// Package replicaset is the controllers that keep as many pods as a ReplicaSet, or a ReplicationController, wants.
//
// # Usage
//
//	c, err := replicaset.New(env)
//	...
//	err = c.Run(ctx)
//
// Both kinds are served by one core, which knows of a kind what kind.go says. Where its cache stands is told by the
// library: a step sees its own writes in front of the cache, so there is no count of what is expected to be seen, and no
// time after which that count is given up.
//
// # Guarantees
//
//  1. There are as many pods as wanted, whoever deletes some or adds more; those that go first can be spared most.
//     (TestReplicas, TestVictims)
//  2. However late the informer is, no pod is made twice. (TestInformerIsLate)
//  3. Pods that were made and deleted unseen are made again; nothing is blocked for ever. (TestPodsComeAndGoUnseen)
//  4. Orphans that match are adopted and pods that don't match any more released. (TestOrphans)
//  5. A set that has come under the name of another leaves that one's pods alone. (TestNameIsUsedAgain)
//  6. The status tells of ready pods, of those that are so for minReadySeconds, and why pods can't be made.
//     (TestStatus, TestCreationFails)
//  7. Whatever is done at random, connections cut and histories dropped meanwhile, it ends with what is wanted.
//     (TestChurn)
//
// # Concurrency
//
// What New returns runs once. Several keys are worked on at a time.
//
// # Testing
//
// The tests run against the reference API server in the same process, with a stand-in for kubelets.
package replicaset
