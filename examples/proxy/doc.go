// Package proxy passes connections to services on to their endpoints, in user space.
//
// # Usage
//
//	err := proxy.Run(ctx, proxy.Options{Cluster: cluster, ServiceIPs: netip.MustParsePrefix("10.96.0.0/16")})
//
// It follows services and endpoint slices through informers; a change of either adds the key of the service to a work
// queue. A step compares what is listened on for a service with what it wants: its address and the nodes' with each of
// its ports. A connection goes to the next ready endpoint in turn.
//
// # Guarantees
//
//  1. Ready endpoints take turns, at the service's address and at its node port. (TestEndpointsTakeTurns)
//  2. A service without endpoints refuses connections; those that are open go on. (TestWithoutEndpointsRefused)
//  3. An endpoint that refuses is passed over, and a connection that one side has closed goes on for the other.
//     (TestRefusingEndpointIsPassedOver, TestHalfClosed)
//  4. Another service under an old name, or at an old address, has nothing of the one before.
//     (TestServiceIsMadeAgain, TestAddressChangesHands)
//  5. An address that can't be had is told once, by a line and an Event, and tried again. (TestAddressIsTaken)
//  6. What was missed while a watch was cut is made up for. (TestCutWatches, TestEndpointsFlap)
//  7. With session affinity a client stays with its endpoint for so long. (TestAffinity)
//  8. Packets of UDP go the same way, and their answers back. (TestUDP)
//
// # Concurrency
//
// [Run] blocks, and leaves no listener, connection or goroutine. Two proxies on one machine are in each other's way.
//
// # Testing
//
// The tests listen on loopback addresses of their own, and make a range local in a network namespace of their own.
package proxy
