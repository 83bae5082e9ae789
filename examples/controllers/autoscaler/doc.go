// Package autoscaler is the controller that gives a workload as many replicas as its use of CPU asks for.
//
// # Usage
//
//	c, err := autoscaler.New(env)
//	...
//	err = c.Run(ctx)
//
// Every 15 seconds it compares what the pods of each HorizontalPodAutoscaler's target have used with what they request,
// and writes the target's subresource scale. What they have used comes from the kubelets, through the API server; With
// takes it from elsewhere.
//
// # Guarantees
//
//  1. The number of replicas follows the use of CPU, between the least and the most. (TestFollowsTheUse)
//  2. A tenth more or less than the target changes nothing; pods without figures make no change larger.
//     (TestWanted)
//  3. It goes down only to what was wanted at any time of the last minutes. (TestFollowsTheUse)
//  4. Where the figures can't be had, nothing is scaled, and the status says so. (TestNoFigures)
//  5. The figures are read from what a kubelet says of its pods. (TestSummary)
//
// # Concurrency
//
// What New returns runs once. Figures are asked by several goroutines at once.
//
// # Testing
//
// The tests run against the reference API server in the same process, with figures of their own.
package autoscaler
