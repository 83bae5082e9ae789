// Package crd serves custom kinds: it has the row of CustomResourceDefinitions, and makes of each definition the rows
// of the kind that it defines.
//
// # Usage
//
//	c := crd.New(registry, crd.Options{Publish: publish})
//	running.Go(func() { err = c.Run(ctx) })
//	err := c.WaitForPublished(ctx)
//
// # How it is built
//
// The definitions are read by this library's own [informer.Informer], straight from the registry. Whatever changes, one
// step looks at all of them: it decides about names, notes that in the status, deletes what is left of kinds
// whose definition is to be deleted, and publishes the rows of all that are established. What it has written itself
// it sees at once, through an [informer.Overlay].
//
// A definition whose kind changes gets other rows. The ones before are retired once their watches have been told of all
// that had happened; the watches end then, and clients go on with new ones.
//
// # Guarantees
//
//  1. The status of a definition is as recorded. (TestRecordedDefinition; package apiserver has TestDefinition)
//  2. Names are given to who asks first, and to the others when they become free. (TestNames, TestNamesBecomeFree)
//  3. What cannot be served is refused when it is defined. (TestCheck)
//  4. Objects are pruned, completed and checked by the schema of the version they are sent in, and shown so in each
//     other. (package apiserver has TestDefinedObjects, TestVersions)
//  5. A definition that is deleted takes its objects along, and its watches see each of them go.
//     (package apiserver has TestDeleteDefinition)
//  6. A change of a definition holds for every request that begins after it was answered and published.
//     (package apiserver has TestChangeOfDefinition)
//
// # Concurrency
//
// A [Controller] is safe for concurrent use. When Run has returned, nothing of it runs.
//
// # Testing
//
// Rows and names need no server; the rest is tested through one.
package crd
