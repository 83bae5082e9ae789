package namespace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/controllers/control"
	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

// again is when a namespace is looked at again in which something is left.
const again = time.Second

type controller struct {
	env        control.Env
	namespaces *informer.Informer[*corev1.Namespace]
	writer     kube.Client[*corev1.Namespace]
}

// New makes the controller.
func New(env control.Env) (control.Controller, error) {
	c := &controller{env: env, writer: kube.For[*corev1.Namespace](env.Cluster)}
	namespaces, err1 := kube.Follow[*corev1.Namespace](env.Cluster, env.Factory, kube.Select{})
	pods, err2 := kube.Follow[*corev1.Pod](env.Cluster, env.Factory, kube.Select{})
	if err := errors.Join(err1, err2); err != nil {
		return control.Controller{}, err
	}
	c.namespaces = namespaces
	return control.Loop(control.NewQueue(env, "namespace"), c.step, control.Of(namespaces, nil),
		control.Of(pods, func(p *corev1.Pod) []listwatch.Key {
			if p.DeletionTimestamp == nil {
				return nil
			}
			return []listwatch.Key{{Name: p.Namespace}}
		})), nil
}

// leaving tells whether a namespace is to go, and waits for its contents to be deleted.
func leaving(n *corev1.Namespace) bool {
	return n.DeletionTimestamp != nil && slices.Contains(n.Spec.Finalizers, corev1.FinalizerKubernetes)
}

// step empties a namespace, and lets it go when it is empty.
func (c *controller) step(ctx context.Context, key listwatch.Key) (workqueue.Result, error) {
	seen, found := c.namespaces.Indexer().Get(key)
	if !found || !leaving(seen) {
		return workqueue.Result{}, nil
	}
	n, err := c.writer.Get(ctx, key) // the cache may not know yet that there is another
	if err != nil || n.UID != seen.UID || !leaving(n) {
		return workqueue.Result{}, kube.UnlessBehind(err)
	}
	left := c.empty(ctx, key.Name)
	if left.nothing() {
		return workqueue.Result{}, c.finish(ctx, n)
	}
	if err := c.report(ctx, n, left); err != nil {
		return workqueue.Result{}, err
	}
	return workqueue.Result{After: again}, left.err()
}

// finish lets a namespace go.
func (c *controller) finish(ctx context.Context, n *corev1.Namespace) error {
	n.Spec.Finalizers = slices.DeleteFunc(n.Spec.Finalizers, func(f corev1.FinalizerName) bool { return f == corev1.FinalizerKubernetes })
	_, err := c.writer.UpdateSubresource(ctx, n, "finalize")
	if err == nil {
		c.env.Logger.Info("namespace is empty, and let go", "namespace", n.Name)
	}
	return kube.UnlessBehind(err)
}

// remains is what is left in a namespace, and why.
type remains struct {
	// discovery is why it isn't known what there could be, and content why something could not be deleted.
	discovery error
	content   []error
	// objects counts what is left by resource, and finalizers what it waits for by finalizer.
	objects, finalizers map[string]int
}

func (r *remains) nothing() bool { return r.err() == nil && len(r.objects) == 0 }

func (r *remains) err() error { return errors.Join(append(r.content, r.discovery)...) }

// empty deletes all in a namespace, and returns what is left then.
func (c *controller) empty(ctx context.Context, namespace string) *remains {
	left := &remains{objects: map[string]int{}, finalizers: map[string]int{}}
	var all []kube.Resource
	all, left.discovery = c.env.Cluster.Resources(ctx)
	for _, r := range all {
		if !r.Namespaced || !r.Can("list", "delete") {
			continue
		}
		if err := c.emptyOf(ctx, namespace, r, left); err != nil && !apierrors.IsNotFound(err) {
			left.content = append(left.content, fmt.Errorf("%s: %w", r.GroupResource(), err))
		}
	}
	return left
}

// emptyOf deletes all objects of a resource.
func (c *controller) emptyOf(ctx context.Context, namespace string, r kube.Resource, left *remains) error {
	m, background := c.env.Cluster.Metadata(r.GroupVersionResource), metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationBackground)}
	list, err := m.List(ctx, namespace)
	if err != nil || len(list.Items) == 0 {
		return err
	}
	if r.Can("deletecollection") {
		err = m.DeleteAll(ctx, namespace, background)
	} else {
		for _, o := range list.Items {
			options := background
			options.Preconditions = metav1.NewUIDPreconditions(string(o.UID))
			err = errors.Join(err, kube.UnlessBehind(m.Delete(ctx, listwatch.KeyOf(&o), options)))
		}
	}
	if err != nil {
		return err
	}
	if list, err = m.List(ctx, namespace); err != nil {
		return err
	}
	for _, o := range list.Items {
		left.objects[r.GroupResource().String()]++
		for _, f := range o.Finalizers {
			left.finalizers[f]++
		}
	}
	return nil
}

// report says in the conditions of a namespace why it is not gone yet.
func (c *controller) report(ctx context.Context, n *corev1.Namespace, left *remains) error {
	before := n.Status.DeepCopy()
	for _, next := range []struct {
		kind      corev1.NamespaceConditionType
		is        bool
		bad, good [2]string // reason and message
	}{
		{corev1.NamespaceDeletionDiscoveryFailure, left.discovery != nil,
			[2]string{"DiscoveryFailed", fmt.Sprintf("Discovery failed for some groups: %v", left.discovery)},
			[2]string{"ResourcesDiscovered", "All resources successfully discovered"}},
		{corev1.NamespaceDeletionContentFailure, len(left.content) > 0,
			[2]string{"ContentDeletionFailed", fmt.Sprintf("Failed to delete all resource types: %v", errors.Join(left.content...))},
			[2]string{"ContentDeleted", "All content successfully deleted, may be waiting on finalization"}},
		{corev1.NamespaceContentRemaining, len(left.objects) > 0,
			[2]string{"SomeResourcesRemain", "Some resources are remaining: " + counted(left.objects, "%s has %d resource instances")},
			[2]string{"ContentRemoved", "All content successfully removed"}},
		{corev1.NamespaceFinalizersRemaining, len(left.finalizers) > 0,
			[2]string{"SomeFinalizersRemain", "Some content in the namespace has finalizers remaining: " + counted(left.finalizers, "%s in %d resource instances")},
			[2]string{"ContentHasNoFinalizers", "All content-preserving finalizers finished"}},
	} {
		status, words := corev1.ConditionFalse, next.good
		if next.is {
			status, words = corev1.ConditionTrue, next.bad
		}
		setCondition(&n.Status, corev1.NamespaceCondition{Type: next.kind, Status: status, Reason: words[0], Message: words[1],
			LastTransitionTime: metav1.NewTime(c.env.Clock.Now())})
	}
	if equality.Semantic.DeepEqual(before.Conditions, n.Status.Conditions) {
		return nil
	}
	_, err := c.writer.UpdateStatus(ctx, n)
	return kube.UnlessBehind(err)
}

// setCondition replaces a condition. The time is that of the last change of its status.
func setCondition(s *corev1.NamespaceStatus, next corev1.NamespaceCondition) {
	i := slices.IndexFunc(s.Conditions, func(old corev1.NamespaceCondition) bool { return old.Type == next.Type })
	if i < 0 {
		s.Conditions = append(s.Conditions, next)
		return
	}
	if s.Conditions[i].Status == next.Status {
		next.LastTransitionTime = s.Conditions[i].LastTransitionTime
	}
	s.Conditions[i] = next
}

// counted makes a text of counts.
func counted(counts map[string]int, format string) string {
	var all []string
	for what, n := range counts {
		all = append(all, fmt.Sprintf(format, what, n))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}
