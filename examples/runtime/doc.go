// Package runtime is what a kubelet asks of the thing that runs containers, in the shape of the Container Runtime
// Interface (k8s.io/cri-api, v1): a client of that protocol can stand in for the runtimes below this folder. Package
// process runs containers as processes, package hollow pretends to.
//
// # Usage
//
//	image, err := r.PullImage(ctx, "builtin/web:1")
//	...
//	sandbox, err := r.RunPodSandbox(ctx, runtime.SandboxConfig{Namespace: "default", Name: "web", UID: uid})
//	...
//	id, err := r.CreateContainer(ctx, sandbox, runtime.ContainerConfig{Name: "main", Image: image})
//	...
//	err = r.StartContainer(ctx, id)
//
// A container runs once: to run it again, another is made.
//
// # Guarantees
//
// What every runtime keeps to is tested by package runtimetest, for both.
//
//  1. What the methods say, also when they are called twice or out of order. (process.TestConformance)
//  2. What is listed follows from what was done. (process.TestRandom)
//  3. What is called at the same time leaves nothing behind. (process.TestTogether)
//
// # Concurrency
//
// Every method is safe for concurrent use. Those about one container or one sandbox may be called in any order, and as
// often as one likes: what has been done already is no error. What is given is kept, and what is returned is shared:
// neither may be changed.
//
// # Testing
//
// A kubelet is tested with package hollow and its clock, and with package process for what processes do.
package runtime
