package endpointslice

import (
	"context"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/controllers/backends"
	"github.com/seed3bce33ad/listwatch/examples/controllers/control"
	"github.com/seed3bce33ad/listwatch/examples/controllers/owned"
	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/indexer"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

// manager is who slices of this controller say that they are managed by.
const manager = "endpointslice-controller.k8s.io"

type controller struct {
	env       control.Env
	found     *backends.Finder
	slices    *owned.Set[*discoveryv1.EndpointSlice]
	byService *indexer.Index[*discoveryv1.EndpointSlice, listwatch.Key]
	services  kube.Client[*corev1.Service]
	queue     *workqueue.Queue[listwatch.Key]
}

// New makes the controller.
func New(env control.Env) (control.Controller, error) {
	c := &controller{env: env, services: kube.For[*corev1.Service](env.Cluster), queue: control.NewQueue(env, "endpointslice")}
	var err1, err2 error
	c.found, err1 = backends.New(env, "endpointslice")
	all, err2 := kube.Follow[*discoveryv1.EndpointSlice](env.Cluster, env.Factory, kube.Select{})
	if err := errors.Join(err1, err2); err != nil {
		return control.Controller{}, err
	}
	c.byService, err1 = indexer.AddIndex(all.Indexer(), "endpointslice: service", serviceOf)
	c.slices, err2 = owned.New(owned.Options[*discoveryv1.EndpointSlice]{Cluster: env.Cluster, Informer: all, Name: "endpointslice", Kind: "Service"})
	if err := errors.Join(err1, err2); err != nil {
		return control.Controller{}, err
	}
	return control.Loop(c.queue, c.step, control.Of(c.found.Services, nil),
		control.Of(c.found.Pods, c.found.ServicesOf), control.Of(all, serviceOf)), nil
}

// serviceOf is the service of a slice that is this controller's.
func serviceOf(s *discoveryv1.EndpointSlice) []listwatch.Key {
	name := s.Labels[discoveryv1.LabelServiceName]
	if name == "" || s.Labels[discoveryv1.LabelManagedBy] != manager {
		return nil
	}
	return []listwatch.Key{{Namespace: s.Namespace, Name: name}}
}

// step makes the slices of a service what they should be. It sees what it has written before the cache does, so none is made
// twice, however far that is behind.
func (c *controller) step(ctx context.Context, key listwatch.Key) (workqueue.Result, error) {
	defer c.slices.Again(c.queue, key)
	if !c.slices.Whole() {
		return workqueue.Result{}, nil
	}
	service, _ := c.found.Services.Indexer().Get(key)
	if service != nil && service.DeletionTimestamp != nil {
		service = nil
	}
	if err := c.deleteOthers(ctx, key, service); err != nil || service == nil {
		return workqueue.Result{}, err
	}
	own := slices.DeleteFunc(c.slices.Of(service.UID), func(s *discoveryv1.EndpointSlice) bool { return !isOf(s, service) })
	for _, w := range plan(service, c.found.PodsOf(service), own) {
		if err := kube.UnlessBehind(c.write(ctx, w)); err != nil {
			return workqueue.Result{}, err
		}
	}
	return workqueue.Result{}, nil
}

// isOf tells whether a slice is this controller's for that very service.
func isOf(s *discoveryv1.EndpointSlice, service *corev1.Service) bool {
	return slices.Equal(serviceOf(s), []listwatch.Key{listwatch.KeyOf(service)}) && metav1.IsControlledBy(s, service) &&
		s.AddressType == discoveryv1.AddressTypeIPv4 && backends.Selects(service)
}

// deleteOthers deletes the slices of services that had the key and are no more, or select nothing. The server is asked first
// whether it is so: the cache of services may be behind that of slices.
func (c *controller) deleteOthers(ctx context.Context, key listwatch.Key, service *corev1.Service) error {
	others := slices.DeleteFunc(c.byService.Get(key), func(s *discoveryv1.EndpointSlice) bool {
		return s.DeletionTimestamp != nil || service != nil && isOf(s, service)
	})
	if len(others) == 0 {
		return nil
	}
	now, err := c.services.Get(ctx, key)
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	for _, s := range others {
		if err == nil && isOf(s, now) {
			continue // the service will come
		}
		if err := kube.UnlessBehind(c.slices.Delete(ctx, s, metav1.DeleteOptions{})); err != nil {
			return err
		}
	}
	return nil
}

// write does what is planned with a slice.
func (c *controller) write(ctx context.Context, s *discoveryv1.EndpointSlice) error {
	if len(s.Endpoints) == 0 {
		return c.slices.Delete(ctx, s, metav1.DeleteOptions{})
	}
	verb, f := "updated", c.slices.Update
	if s.Name == "" {
		verb, f = "created", c.slices.Create
	}
	written, err := f(ctx, s)
	if err != nil {
		return err
	}
	ready := len(slices.DeleteFunc(slices.Clone(s.Endpoints), func(e discoveryv1.Endpoint) bool { return !*e.Conditions.Ready }))
	c.env.Logger.Info(verb+" endpointslice", "slice", listwatch.KeyOf(written).String(), "endpoints", len(s.Endpoints), "ready", ready)
	return nil
}
