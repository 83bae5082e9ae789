package quota

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/usage"
	"github.com/seed3bce33ad/listwatch/examples/controllers/control"
	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/informer"
)

// source counts the objects of a resource.
type source struct {
	synced func() *listwatch.Signal
	// caught returns a signal of the cache showing all objects that are in a namespace now.
	caught func(ctx context.Context, namespace string) (*listwatch.Signal, error)
	// count returns what the objects use of what a quota bounds.
	count func(*corev1.ResourceQuota) corev1.ResourceList
}

// sources are those of all resources that quotas bound so far.
type sources struct {
	env     control.Env
	ctx     context.Context // of the controller's run
	changed func(namespace string)

	mu sync.Mutex
	// byGroup are the sources by "resource.group". Guarded by mu.
	byGroup map[string]source
}

// resourceOf returns whose objects use what a quota calls by a name.
func resourceOf(name corev1.ResourceName) string {
	if counted, ok := strings.CutPrefix(string(name), "count/"); ok {
		return counted
	}
	switch name {
	case corev1.ResourceReplicationControllers, corev1.ResourceQuotas, corev1.ResourceSecrets, corev1.ResourceConfigMaps,
		corev1.ResourcePersistentVolumeClaims:
		return string(name)
	case corev1.ResourceServices, corev1.ResourceServicesNodePorts, corev1.ResourceServicesLoadBalancers:
		return "services"
	}
	return "pods"
}

// of returns the sources of what the names stand for, and begins to follow what nobody has asked for before. Names of what
// the server doesn't serve have none.
func (s *sources) of(ctx context.Context, names []corev1.ResourceName) ([]source, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []source
	seen := map[string]bool{}
	for _, name := range names {
		r := resourceOf(name)
		if seen[r] {
			continue
		}
		seen[r] = true
		if _, found := s.byGroup[r]; !found {
			made, err := s.follow(ctx, r)
			if err != nil {
				return nil, err
			}
			if made.count == nil {
				continue
			}
			s.byGroup[r] = made
		}
		all = append(all, s.byGroup[r])
	}
	return all, nil
}

// follow begins to follow a resource.
func (s *sources) follow(ctx context.Context, name string) (source, error) {
	switch name {
	case "pods":
		return sourceOf(s, corev1.SchemeGroupVersion.WithResource(name), kube.Follow[*corev1.Pod])
	case "services":
		return sourceOf(s, corev1.SchemeGroupVersion.WithResource(name), kube.Follow[*corev1.Service])
	}
	served, err := s.env.Cluster.Resources(ctx)
	for _, r := range served {
		if r.GroupResource().String() == name && r.Namespaced && r.Can("list", "watch") {
			return sourceOf(s, r.GroupVersionResource, func(c *kube.Cluster, f *informer.Factory, _ kube.Select) (*informer.Informer[*metav1.PartialObjectMetadata], error) {
				return kube.FollowMetadata(c, f, r.GroupVersionResource)
			})
		}
	}
	return source{}, err
}

// sourceOf is a source of the objects of an informer, changes of which have the quotas of their namespace counted.
func sourceOf[T kube.Object](
	s *sources, at schema.GroupVersionResource, follow func(*kube.Cluster, *informer.Factory, kube.Select) (*informer.Informer[T], error),
) (source, error) {
	i, err := follow(s.env.Cluster, s.env.Factory, kube.Select{})
	if err != nil {
		return source{}, err
	}
	_, err = i.AddHandler(s.ctx, func(_ context.Context, c informer.Change[T]) { s.changed(c.Key.Namespace) }, informer.HandlerOptions{Name: "quota"})
	if err != nil {
		return source{}, fmt.Errorf("quota: %w", err)
	}
	r := at.GroupResource()
	caught := func(ctx context.Context, namespace string) (*listwatch.Signal, error) {
		list, err := s.env.Cluster.Metadata(at).List(ctx, namespace)
		if err != nil {
			return nil, err
		}
		return i.Reached(newest(list)), nil
	}
	return source{synced: i.Synced, caught: caught, count: func(q *corev1.ResourceQuota) corev1.ResourceList {
		used := corev1.ResourceList{}
		for name := range q.Spec.Hard {
			if resourceOf(name) == r.String() {
				used[name] = *resource.NewQuantity(0, resource.DecimalSI)
			}
		}
		for _, o := range i.Indexer().Namespace(q.Namespace) {
			if !usage.InScope(q, o) {
				continue
			}
			for name, more := range usage.Of(r, o) {
				if sum, bounded := used[name]; bounded {
					sum.Add(more)
					used[name] = sum
				}
			}
		}
		return used
	}}, nil
}

// newest returns the version of the object that was written last; "0", which is reached, when there is none.
func newest(list *metav1.PartialObjectMetadataList) string {
	var last uint64
	for _, o := range list.Items {
		if v, err := strconv.ParseUint(o.ResourceVersion, 10, 64); err == nil {
			last = max(last, v)
		}
	}
	return strconv.FormatUint(last, 10)
}
