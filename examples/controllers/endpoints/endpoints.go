//lint:file-ignore SA1019 what is deprecated is what this package is for

// Package endpoints is the controller that writes which pods are behind a service into the Endpoints of the same name, for those
// who don't read endpoint slices yet. See package endpointslice.
//
// # Guarantees
//
//  1. The Endpoints of a service hold the pods that it selects and that have addresses: those that are ready, and beside them
//     those that aren't. Pods on their way out are left out. (TestFollowsPods)
//  2. Of more than a thousand addresses a thousand are written, and an annotation says so. (TestOverCapacity)
//  3. Endpoints go with their service; those of services without a selector are left alone. (TestServiceGoes, TestWithoutSelector)
//
// # Concurrency
//
// One of it should run at a time; see examples/leader.
package endpoints

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/controllers/backends"
	"github.com/seed3bce33ad/listwatch/examples/controllers/control"
	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

// managedBy and manager are the label of what is this controller's.
const managedBy, manager = "endpoints.kubernetes.io/managed-by", "endpoint-controller"

type controller struct {
	env       control.Env
	found     *backends.Finder
	endpoints *informer.Informer[*corev1.Endpoints]
	writer    kube.Client[*corev1.Endpoints]
}

// New makes the controller.
func New(env control.Env) (control.Controller, error) {
	c := &controller{env: env, writer: kube.For[*corev1.Endpoints](env.Cluster)}
	var err1, err2 error
	c.found, err1 = backends.New(env, "endpoints")
	c.endpoints, err2 = kube.Follow[*corev1.Endpoints](env.Cluster, env.Factory, kube.Select{})
	if err := errors.Join(err1, err2); err != nil {
		return control.Controller{}, err
	}
	return control.Loop(control.NewQueue(env, "endpoints"), c.step, control.Of(c.found.Services, nil),
		control.Of(c.found.Pods, c.found.ServicesOf), control.Of(c.endpoints, nil)), nil
}

// step makes the Endpoints of a service what they should be.
func (c *controller) step(ctx context.Context, key listwatch.Key) (workqueue.Result, error) {
	service, found := c.found.Services.Indexer().Get(key)
	now, exists := c.endpoints.Indexer().Get(key)
	if !found || !backends.Selects(service) {
		if !exists || now.Labels[managedBy] != manager {
			return workqueue.Result{}, nil
		}
		return workqueue.Result{}, c.remove(ctx, now)
	}
	want := endpointsOf(service, c.found.PodsOf(service))
	if exists && equality.Semantic.DeepEqual(now.Subsets, want.Subsets) && equality.Semantic.DeepEqual(now.Labels, want.Labels) &&
		now.Annotations[corev1.EndpointsOverCapacity] == want.Annotations[corev1.EndpointsOverCapacity] {
		return workqueue.Result{}, nil
	}
	write := c.writer.Create
	if exists {
		write = c.writer.Update
		want.UID, want.ResourceVersion = now.UID, now.ResourceVersion
	}
	written, err := write(ctx, want)
	if err != nil {
		return workqueue.Result{}, kube.UnlessBehind(err)
	}
	return workqueue.Result{Await: c.endpoints.Reached(written.ResourceVersion)}, nil
}

// remove deletes the Endpoints of a service that is no more, or selects nothing. The server is asked whether it is so: the
// cache of services may be behind.
func (c *controller) remove(ctx context.Context, e *corev1.Endpoints) error {
	key := listwatch.KeyOf(e)
	service, err := kube.For[*corev1.Service](c.env.Cluster).Get(ctx, key)
	if err == nil && backends.Selects(service) {
		return nil // the service will come
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return kube.UnlessBehind(c.writer.Delete(ctx, key, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(e.UID))}))
}
