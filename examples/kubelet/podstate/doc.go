// Package podstate is what a kubelet thinks about one pod: what to do next, and how the pod is. It does nothing itself.
//
// # Usage
//
//	v := podstate.View{Pod: pod, Now: now, Sandboxes: sandboxes, Containers: containers}
//	plan := podstate.Decide(&v)
//	status := podstate.Status(&v, plan)
//
// # Guarantees
//
//  1. Init containers run one after the other, then the others together; what ends is started again as the pod's restart
//     policy says, after a backoff. (TestDecide)
//  2. The backoff goes on where it was in another run of the kubelet. (TestBackoff)
//  3. A status says what kubectl shows of a pod in each part of its life. (TestStatus)
//  4. A node refuses a pod as kubelets do, with their words. (TestRefuse)
//  5. A transition time changes only when the condition's status does. (TestConditions)
//
// # Concurrency
//
// Functions are pure.
//
// # Testing
//
// A view is data: see the tables in the tests.
package podstate
