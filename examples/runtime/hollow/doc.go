// Package hollow is a container runtime that only pretends: sandboxes and containers are entries in memory. A container
// has no goroutine, so that thousands of nodes fit into one process.
//
// # Usage
//
//	r, err := hollow.New(hollow.Options{CIDR: netip.MustParsePrefix("10.244.7.0/24")})
//	...
//	defer r.Close()
//
// The runtime lives longer than its kubelet: one that is started anew with the same [Runtime] finds what runs. Images are
// had under any name, commands succeed without doing anything, and containers run until they are stopped, unless Options
// say otherwise. Nothing is logged, nothing is mounted, and nobody answers at the addresses of pods.
//
// # Guarantees
//
//  1. It acts as every runtime does. (TestConformance)
//  2. Containers start, run, fail and end as Behaviour says, by the injected clock. (TestBehaviour, TestStop)
//  3. A sandbox has an address of its own until it is stopped. (TestAddresses)
//  4. A container costs no goroutine. (TestNoGoroutines)
//
// # Concurrency
//
// Everything is safe for concurrent use. Functions in Options are called without locks, possibly by many at once.
//
// # Testing
//
// With a mock clock nothing happens by itself: Add moves containers to their starts and ends. Exit ends one at once.
package hollow
