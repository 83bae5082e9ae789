package registry

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/storage"
)

// Bind gives a pod to the node that the binding names. A pod that has a node, or is to be
// deleted, is refused.
func (r *Registry) Bind(ctx context.Context, t Target, b *corev1.Binding, options metav1.CreateOptions) error {
	if b.Target.Kind != "" && b.Target.Kind != "Node" {
		return bindingInvalid(t.Name, field.NotSupported(field.NewPath("target", "kind"), b.Target.Kind, []string{"Node", "<empty>"}))
	}
	if b.Target.Name == "" {
		return bindingInvalid(t.Name, field.Required(field.NewPath("target", "name"), ""))
	}
	topology, err := r.topology(ctx, b.Target.Name)
	if err != nil {
		return err
	}
	dryRun := len(options.DryRun) > 0
	_, err = r.change(ctx, t, dryRun, func(e storage.Entry) (storage.Change, error) {
		o, err := t.decode(e)
		if err == nil {
			err = r.admit(ctx, Admission{Target: t, Verb: "create", Object: b, Old: o, DryRun: dryRun})
		}
		if err != nil {
			return storage.Change{}, err
		}
		if problem := r.bind(o.(*corev1.Pod), b, topology); problem != nil {
			return storage.Change{}, apierrors.NewConflict(schema.GroupResource{Resource: "pods/binding"}, t.Name, problem)
		}
		value, err := t.Kind.EncodeStored(o)
		return storage.Change{Value: value}, err
	})
	return t.classify(err)
}

func bindingInvalid(name string, err *field.Error) error {
	return apierrors.NewInvalid(schema.GroupKind{Kind: "Binding"}, name, field.ErrorList{err})
}

// topology returns the labels of a node that tell where it is; its pods get them too. A node
// that is not there has none.
func (r *Registry) topology(ctx context.Context, node string) (map[string]string, error) {
	o, err := r.Get(ctx, Target{Kind: kinds.Nodes(), Name: node}, "")
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	topology := make(map[string]string)
	for _, key := range []string{corev1.LabelTopologyRegion, corev1.LabelTopologyZone} {
		if value, ok := o.GetLabels()[key]; ok {
			topology[key] = value
		}
	}
	return topology, nil
}

// bind changes a pod, or says why not.
func (r *Registry) bind(p *corev1.Pod, b *corev1.Binding, topology map[string]string) error {
	switch {
	case b.UID != "" && b.UID != p.UID:
		return fmt.Errorf("precondition failed: UID in precondition: %v, UID in object meta: %v", b.UID, p.UID)
	case p.DeletionTimestamp != nil:
		return fmt.Errorf("pod %s is being deleted, cannot be assigned to a host", p.Name)
	case p.Spec.NodeName != "":
		return fmt.Errorf("pod %v is already assigned to node %q", p.Name, p.Spec.NodeName)
	case len(p.Spec.SchedulingGates) > 0:
		return fmt.Errorf("pod %v has non-empty .spec.schedulingGates", p.Name)
	}
	p.Spec.NodeName = b.Target.Name
	p.Labels = joined(p.Labels, b.Labels, topology)
	p.Annotations = joined(p.Annotations, b.Annotations)
	scheduled := corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: r.now()}
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == corev1.PodScheduled {
			p.Status.Conditions[i] = scheduled
			return nil
		}
	}
	p.Status.Conditions = append(p.Status.Conditions, scheduled)
	return nil
}

// joined returns a map with the entries of all, later ones first. No entries: the first map.
func joined(first map[string]string, more ...map[string]string) map[string]string {
	for _, m := range more {
		if first == nil && len(m) > 0 {
			first = make(map[string]string, len(m))
		}
		maps.Copy(first, m)
	}
	return first
}
