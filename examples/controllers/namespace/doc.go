// Package namespace is the controller that ends namespaces: it deletes what is in one that is to go, of all kinds that the
// server tells of, waits until nothing is left, and lets the namespace go.
//
// Nobody can make anything in a namespace that is to go. What is left are objects with finalizers and pods that have time
// to end: pods lead back to the namespace when they go, others are looked for after a second. Why it is not gone yet stands
// in the conditions of the namespace.
//
// # Guarantees
//
//  1. All that is in a deleted namespace goes, objects of custom kinds too, and then the namespace. (TestDeletesContents)
//  2. It stays until finalizers are gone and pods have ended, and its conditions say so. (TestWaits)
//  3. While a group of resources can't be asked for, the namespace stays. (TestUnknownContents)
//  4. Nothing of another namespace that has come under the same name is touched. (TestSameName)
//
// # Concurrency
//
// One of it should run at a time; see examples/leader. The server can't be told to delete a collection only of a certain
// namespace: between a look at the namespace and the deletes, a second controller might let it go, and somebody might make
// it anew.
package namespace
