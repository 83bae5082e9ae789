// Package service is the controller that gives services of type LoadBalancer what a cloud would give them: an address that
// clients outside of the cluster reach. Here it is the service's own, which the whole machine reaches while the proxy runs.
// There is nothing to be cleaned up, and so no finalizer.
//
// # Guarantees
//
//  1. A service of that type has the address in its status, and one that is of another type by now has none. (TestBalancer)
//  2. Services of a class of their own are left to others. (TestClass)
//
// # Concurrency
//
// Two of it at once harm nothing: a status is only written onto the version that was read.
package service

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/controllers/control"
	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

type controller struct {
	env      control.Env
	services *informer.Informer[*corev1.Service]
}

// New makes the controller.
func New(env control.Env) (control.Controller, error) {
	services, err := kube.Follow[*corev1.Service](env.Cluster, env.Factory, kube.Select{})
	if err != nil {
		return control.Controller{}, err
	}
	c := &controller{env, services}
	return control.Loop(control.NewQueue(env, "service"), c.step, control.Of(services, nil)), nil
}

// step gives a service its address, or takes it away.
func (c *controller) step(ctx context.Context, key listwatch.Key) (workqueue.Result, error) {
	s, found := c.services.Indexer().Get(key)
	if !found || s.DeletionTimestamp != nil || s.Spec.LoadBalancerClass != nil {
		return workqueue.Result{}, nil
	}
	var want corev1.LoadBalancerStatus
	if s.Spec.Type == corev1.ServiceTypeLoadBalancer && s.Spec.ClusterIP != "" && s.Spec.ClusterIP != corev1.ClusterIPNone {
		want.Ingress = []corev1.LoadBalancerIngress{{IP: s.Spec.ClusterIP}}
	}
	now := s.DeepCopy()
	for i := range now.Status.LoadBalancer.Ingress { // what the server adds is its own
		now.Status.LoadBalancer.Ingress[i].IPMode = nil
	}
	if equality.Semantic.DeepEqual(now.Status.LoadBalancer, want) {
		return workqueue.Result{}, nil
	}
	now.Status.LoadBalancer = want
	written, err := kube.For[*corev1.Service](c.env.Cluster).UpdateStatus(ctx, now)
	if err != nil {
		return workqueue.Result{}, kube.UnlessBehind(err)
	}
	c.env.Logger.Info("balanced service", "service", key.String(), "addresses", len(want.Ingress))
	return workqueue.Result{Await: c.services.Reached(written.ResourceVersion)}, nil
}
