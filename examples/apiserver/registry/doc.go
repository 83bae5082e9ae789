// Package registry is the verbs of the Kubernetes API on top of a [storage.Store]: what create,
// get, list, update, patch, delete and watch mean, without HTTP.
//
// # Usage
//
//	r := registry.New(store, registry.Options{})
//	defer r.Close()
//	pods := registry.Target{Kind: kinds.Pods(), Namespace: "default"}
//	list, err := r.List(ctx, pods, metav1.ListOptions{Limit: 500})
//	w, err := r.NewWatch(ctx, pods, metav1.ListOptions{ResourceVersion: list.Meta.ResourceVersion})
//	err = w.Run(ctx, func(b registry.Batch) error { ... })
//
// The guarantees are those of the API server around it; they are listed, and tested over HTTP,
// in package apiserver.
//
// # Concurrency
//
// A kind has a [cacher.Cache] from its first list or watch on, which runs until Close.
// A [Registry] is safe for concurrent use, a [Watch] is not.
//
// # Testing
//
// The tests of package apiserver go through most of this one with real requests; those here
// are about what a request cannot bring about.
package registry
