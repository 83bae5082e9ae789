// Package endpointslice is the controller that writes which pods are behind a service, and at which ports, into endpoint
// slices, for proxies to read.
//
// An endpoint stays in its slice for as long as its pod is there, and a slice holds up to a hundred: when one pod changes, one
// slice is written. Pods that are not ready, or on their way out, are there with conditions that say so.
//
// # Guarantees
//
//  1. The slices of a service hold the pods that it selects and that have addresses, each once. (TestFollowsPods, TestRandom)
//  2. A change of one pod writes one slice. (TestFewestWrites)
//  3. Pods with other ports, by name, are in slices of their own. (TestNamedPorts)
//  4. Another service under an old name has slices of its own, and the old ones go; services without a selector are left
//     alone. (TestServiceMadeAgain, TestWithoutSelector)
//  5. However far its cache is behind, no slice is made twice, and no change waits for the cache. (TestInformerIsLate)
//  6. When the ports of a service change there is no time without endpoints. (TestPortsChange)
//
// # Concurrency
//
// One of it should run at a time; see examples/leader.
package endpointslice
