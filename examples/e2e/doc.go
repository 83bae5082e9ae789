// Package e2e runs this library's informers beside client-go's against a real Kubernetes API
// server and etcd, lets everything fail, and compares caches, server and database at rest. It
// has tests only; README.md says how to run them and what they have shown.
package e2e
