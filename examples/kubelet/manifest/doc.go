// Package manifest reads pods from files: those that a node runs by itself, whatever the API says. It also makes the pods
// that show them in the API.
//
// # Usage
//
//	dir := manifest.New(manifest.Options{Path: "/etc/kubernetes/manifests", Node: "n1"})
//	if dir.Read() { // now and then
//		for _, pod := range dir.Pods() {
//
// Each file *.yaml or *.json that doesn't begin with a dot is one pod. Its name gets the node's as a suffix, its UID follows
// from what the file says. It may refer to nothing that is in the API: neither service accounts, secrets nor config maps.
//
// # Guarantees
//
//  1. A file that says something else is a pod with another UID; space and comments are nothing. (TestChange)
//  2. A file that is no pod is logged once, and what it was before stays; files beside it are read. (TestBadFiles)
//  3. A directory that can't be read changes nothing. (TestDirectoryGoes)
//  4. No two pods have the same name: the file whose name comes first has it. (TestTwoOfAName)
//  5. Names that lead out of a directory are refused. (TestBadFiles)
//  6. What shows a pod in the API names it, and belongs to the node. (TestMirror)
//
// # Concurrency
//
// All methods of a [Dir] are safe for concurrent use. It starts nothing.
//
// # Testing
//
// Files are written by a test, which calls Read when it likes.
package manifest
