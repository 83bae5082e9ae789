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
	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/indexer"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

// manager is who slices of this controller say that they are managed by.
const manager = "endpointslice-controller.k8s.io"

type controller struct {
	env       control.Env
	found     *backends.Finder
	slices    *informer.Informer[*discoveryv1.EndpointSlice]
	byService *indexer.Index[*discoveryv1.EndpointSlice, listwatch.Key]
	writer    kube.Client[*discoveryv1.EndpointSlice]
	services  kube.Client[*corev1.Service]
}

// New makes the controller.
func New(env control.Env) (control.Controller, error) {
	c := &controller{env: env, writer: kube.For[*discoveryv1.EndpointSlice](env.Cluster), services: kube.For[*corev1.Service](env.Cluster)}
	var err1, err2 error
	c.found, err1 = backends.New(env, "endpointslice")
	c.slices, err2 = kube.Follow[*discoveryv1.EndpointSlice](env.Cluster, env.Factory, kube.Select{})
	if err := errors.Join(err1, err2); err != nil {
		return control.Controller{}, err
	}
	var err error
	if c.byService, err = indexer.AddIndex(c.slices.Indexer(), "endpointslice: service", serviceOf); err != nil {
		return control.Controller{}, err
	}
	return control.Loop(control.NewQueue(env, "endpointslice"), c.step, control.Of(c.found.Services, nil),
		control.Of(c.found.Pods, c.found.ServicesOf), control.Of(c.slices, serviceOf)), nil
}

// serviceOf is the service of a slice that is this controller's.
func serviceOf(s *discoveryv1.EndpointSlice) []listwatch.Key {
	name := s.Labels[discoveryv1.LabelServiceName]
	if name == "" || s.Labels[discoveryv1.LabelManagedBy] != manager {
		return nil
	}
	return []listwatch.Key{{Namespace: s.Namespace, Name: name}}
}

// step makes the slices of a service what they should be. What was written is awaited, so that none is made twice.
func (c *controller) step(ctx context.Context, key listwatch.Key) (workqueue.Result, error) {
	service, _ := c.found.Services.Indexer().Get(key)
	if service != nil && service.DeletionTimestamp != nil {
		service = nil
	}
	own, others := c.existing(key, service)
	if err := c.deleteOthers(ctx, key, others); err != nil {
		return workqueue.Result{}, err
	}
	if service == nil {
		return workqueue.Result{}, nil
	}
	var last string
	for _, w := range plan(service, c.found.PodsOf(service), own) {
		version, err := c.write(ctx, w)
		if err := kube.UnlessBehind(err); err != nil {
			return workqueue.Result{}, err
		}
		if version != "" {
			last = version
		}
	}
	if last == "" {
		return workqueue.Result{}, nil
	}
	return workqueue.Result{Await: c.slices.Reached(last)}, nil
}

// existing returns the slices of a service, and those of others that had its name.
func (c *controller) existing(key listwatch.Key, service *corev1.Service) (own, others []*discoveryv1.EndpointSlice) {
	for _, s := range c.byService.Get(key) {
		owner := metav1.GetControllerOf(s)
		if service != nil && backends.Selects(service) && owner != nil && owner.UID == service.UID && s.AddressType == discoveryv1.AddressTypeIPv4 {
			own = append(own, s)
		} else if s.DeletionTimestamp == nil {
			others = append(others, s)
		}
	}
	return own, others
}

// deleteOthers deletes the slices of services that are no more, or select nothing. The server is asked first whether it is
// so: the cache of services may be behind that of slices.
func (c *controller) deleteOthers(ctx context.Context, key listwatch.Key, others []*discoveryv1.EndpointSlice) error {
	if len(others) == 0 {
		return nil
	}
	now, err := c.services.Get(ctx, key)
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	for _, s := range others {
		if owner := metav1.GetControllerOf(s); err == nil && owner != nil && owner.UID == now.UID && backends.Selects(now) {
			continue // the service will come
		}
		if err := c.remove(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

func (c *controller) remove(ctx context.Context, s *discoveryv1.EndpointSlice) error {
	return kube.UnlessBehind(c.writer.Delete(ctx, listwatch.KeyOf(s), metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(s.UID))}))
}

// write does what is planned with a slice, and returns the version that it has then.
func (c *controller) write(ctx context.Context, s *discoveryv1.EndpointSlice) (string, error) {
	if len(s.Endpoints) == 0 {
		return "", c.remove(ctx, s)
	}
	verb, f := "updated", c.writer.Update
	if s.Name == "" {
		verb, f = "created", c.writer.Create
	}
	written, err := f(ctx, s)
	if err != nil {
		return "", err
	}
	ready := len(slices.DeleteFunc(slices.Clone(s.Endpoints), func(e discoveryv1.Endpoint) bool { return !*e.Conditions.Ready }))
	c.env.Logger.Info(verb+" endpointslice", "slice", listwatch.KeyOf(written).String(), "endpoints", len(s.Endpoints), "ready", ready)
	return written.ResourceVersion, nil
}
