// Package garbage is the controller that deletes what is owned by nobody any more, and does what the deletion of an owner
// asks for: that its dependents go first, or stay without it.
//
// It follows the metadata of all objects that the server tells of, custom ones too. An owner is a reference in the metadata:
// a kind, a name and a UID. Dependents are found by an index of UIDs, so that an owner that goes leads to them at once.
//
// # Guarantees
//
//  1. What all owners of have gone goes too, in chains and across kinds. (TestCascade)
//  2. An owner is only taken for gone when the server itself says that there is none of that kind and name with that UID, at
//     the place where the reference can point to. Kinds that nobody knows, and servers that don't answer, keep all that is
//     owned. (TestOwnerIsThere, TestOwnersThatCannotBe, TestUnknownKind)
//  3. An object that got another owner meanwhile stays: deletes name the UID and the version. (TestAdopted)
//  4. One of several owners that goes is taken out of the references. (TestOneOfTwoOwners)
//  5. With propagationPolicy=Foreground an owner goes after its dependents that block it, with Orphan they stay. (TestForeground,
//     TestOrphan)
//  6. Owners in a circle go as well. (TestCircle)
//  7. Whatever is created and deleted in whatever order, nothing is left without its owner, and nothing goes whose owner is
//     there. (TestRandom)
//
// # Concurrency
//
// Two of it at once harm nothing, for the same reasons.
package garbage
