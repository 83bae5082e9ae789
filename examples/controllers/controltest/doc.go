// Package controltest has what tests of controllers share: a world with the reference API server, controllers and a
// stand-in for kubelets, in the process of the test.
//
// # Usage
//
//	w := controltest.New(t, replicaset.New)
//	w.Kubelet(controltest.Ready)
//	pods := controltest.Watch[*corev1.Pod](w)
//	controltest.Create(w, set)
//	pods.Until(func(pods []*corev1.Pod) bool { return len(pods) == 3 })
//
// What the controllers read of pods can be held back with Late, and of endpoint slices with LateSlices. The test's own reads and writes go other ways.
package controltest
