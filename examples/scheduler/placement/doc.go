// Package placement decides which node a pod goes to. It knows the nodes and what is on them, asks nobody, and waits
// for nothing: the scheduler tells it what happens, and what it has decided counts at once.
//
// # Usage
//
//	nodes := placement.New(placement.Balanced)
//	nodes.SetNode(node)          // and SetPod, RemovePod, RemoveNode, as informers tell
//	name, err := nodes.Place(pod) // pod is taken for one on that node from now on
//	if err := bind(pod, name); err != nil {
//		nodes.Forget(pod.UID)
//	}
//
// # Guarantees
//
//  1. What is known equals what it is when all nodes and pods are told anew, whatever came in between: pods before
//     their nodes, deletes that show a pod without its node, other pods under old names. (TestRandomWalkEqualsRebuild)
//  2. A pod that was placed counts on its node until it is seen there, forgotten, or gone. (TestAssumed)
//  3. No node is given more than it has, by pods that are placed at once either. (TestPlaceAtOnce)
//  4. A pod that fits nowhere is told why, for each node the first reason, and which signal fires when that may have
//     changed. What happens during an attempt fires its signal. (TestFilters, TestSignals)
//  5. An attempt looks at so many nodes as its profile needs, and the next one begins where it has ended. (TestTurns)
//
// # Concurrency
//
// A [Nodes] is safe for concurrent use. Nothing blocks but for a lock that is held for the time of one attempt.
//
// # Testing
//
// Everything is in memory. BenchmarkPlace places 50,000 pods on 5,000 nodes.
package placement
