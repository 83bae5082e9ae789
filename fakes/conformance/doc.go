// Package conformance checks that a source of objects keeps what [listwatch.ListerWatcher]
// promises, so that an informer may be built on it.
//
// # Usage
//
// Describe how to make a fresh collection and how to write to it in a [Fixture], and run every
// case as a test:
//
//	func TestConformance(t *testing.T) {
//		for _, c := range conformance.Cases(newFixture) {
//			t.Run(c.Name, func(t *testing.T) { c.Run(t) })
//		}
//	}
//
// [Cases] holds for every source. [Rules] holds for servers that keep identities, versions
// and finalizers as a Kubernetes API server does; it is run in the same way.
//
// # Guarantees
//
//  1. Every case runs in a collection of its own, closes it, and has ended every call to the
//     source before it returns, unless the source ignores its context, which fails the case
//     (TestConformance).
//  2. A source that breaks a rule fails the case of that rule (TestFindsFaults).
//  3. No case waits for silence: that nothing came is told by what came next (TestConformance).
//
// # Concurrency
//
// Cases share nothing and may run in parallel, also in testing/synctest bubbles. Source and
// Read of a Fixture are used by several goroutines at once, its other functions by one.
//
// # Testing
//
// The package does not import testing: a case takes a [TB], which *testing.T is.
package conformance
