// Package runtime is what a kubelet asks of the thing that runs containers, in the shape of the Container Runtime
// Interface (k8s.io/cri-api, v1): a client of that protocol can stand in for the runtimes below this folder. Package
// process runs containers as processes, package hollow pretends to.
//
// # Concurrency
//
// Every method is safe for concurrent use. Those about one container or one sandbox may be called in any order, and as
// often as one likes: what has been done already is no error. What is given is kept, and what is returned is shared:
// neither may be changed.
package runtime
