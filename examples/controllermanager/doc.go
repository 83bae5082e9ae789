// Package controllermanager runs all controllers of the reference system in one program, of which one at a time acts.
//
// # Usage
//
//	err := controllermanager.Run(ctx, controllermanager.Options{Cluster: cluster, Identity: hostname})
//
// The controllers share one factory of informers, so that pods are read once for all of them. A term as leader begins with
// informers of its own: nothing of the one before acts on.
//
// # Guarantees
//
//  1. All controllers of [Controllers] run, and bring about together what a user asks for. (TestTogether)
//  2. When the leader changes in the middle of something, it is finished once and not twice. (TestHandedOver)
//  3. A controller that fails ends the term and Run. (TestFails)
//
// # Concurrency
//
// Run blocks and leaves no goroutine.
package controllermanager
