// Package kube is how the parts of the reference system reach the API server: they read through the informers of this
// module's library and write through a Client. It needs neither an etcd nor client-go's caches.
//
// # Usage
//
//	cluster, err := kube.Load(kubeconfig)
//	...
//	defer cluster.Close()
//	var factory informer.Factory
//	pods, err := kube.Follow[*corev1.Pod](cluster, &factory, kube.Select{Fields: "spec.nodeName=n1"})
//	...
//	written, err := kube.For[*corev1.Pod](cluster).UpdateStatus(ctx, changed)
//	if err != nil {
//		return workqueue.Result{}, kube.UnlessBehind(err)
//	}
//	return workqueue.Result{Await: pods.Reached(written.ResourceVersion)}, nil
//
// What an informer hands out is shared: a step changes a DeepCopy of it.
//
// # Guarantees
//
//  1. A type of object leads to its resource, and every verb to the path that the API defines for it. (TestClient)
//  2. What a refusal says keeps its reason: see k8s.io/apimachinery/pkg/api/errors. (TestClient)
//  3. The same event told again counts up and makes no second object. (TestRecorder)
//  4. How many replicas there shall be is read and changed whatever the kind. (TestScale)
//  5. Metadata of kinds that this program does not know is read and written, and nothing else of them. (TestMetadata, TestFollowMetadata)
//
// # Concurrency
//
// Everything is safe for concurrent use.
//
// # Testing
//
// The tests run against the reference API server in the same process.
package kube
