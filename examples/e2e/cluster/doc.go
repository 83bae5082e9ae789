// Package cluster runs a real Kubernetes API server on a real etcd, on loopback, for tests.
//
// # Usage
//
//	binaries, err := cluster.Build(ctx, ".", dir, os.Stderr) // minutes, once
//	c, err := cluster.Start(ctx, binaries, t.TempDir())
//	defer c.Stop()
//	client, err := dynamic.NewForConfig(c.Admin())
//
// The server and etcd are processes that can be killed, stopped and started again on what is
// left. The cluster has its own certificate authority, RBAC, and tokens of service accounts. It
// has no controllers: what they would do, such as making service accounts, is left undone.
//
// # Concurrency
//
// Processes are for one goroutine at a time, all else may be used by several.
package cluster
