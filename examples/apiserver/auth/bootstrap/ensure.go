package bootstrap

import (
	"context"
	"errors"
	"slices"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth/rbac"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/registry"
)

// manager owns the fields that are written here.
const manager = "kube-apiserver"

// Ensure creates the namespaces, roles and bindings that are missing, and completes those that are there. The stores say
// what is there and must be synced; they are behind what was written when it returns. It blocks until all is done.
func Ensure(ctx context.Context, r *registry.Registry, s rbac.Stores) error {
	roles, bindings, err := Policy()
	if err != nil {
		return err
	}
	var work []func() error
	for _, name := range Namespaces() {
		work = append(work, func() error { return r.Ensure(ctx, registry.Target{Kind: kinds.Namespaces(), Name: name}) })
	}
	for i := range roles {
		work = append(work, func() error {
			old, _ := s.ClusterRoles.Get(listwatch.Key{Name: roles[i].Name})
			if old == nil {
				return create(ctx, r, kinds.ClusterRoles(), &roles[i])
			}
			next := old.DeepCopy()
			if !completeRole(next, &roles[i]) {
				return nil
			}
			return update(ctx, r, kinds.ClusterRoles(), next)
		}, func() error {
			old, _ := s.ClusterRoleBindings.Get(listwatch.Key{Name: bindings[i].Name})
			if old == nil {
				return create(ctx, r, kinds.ClusterRoleBindings(), &bindings[i])
			}
			next := old.DeepCopy()
			if !completeBinding(next, &bindings[i]) {
				return nil
			}
			return update(ctx, r, kinds.ClusterRoleBindings(), next)
		})
	}
	errs := make([]error, len(work))
	var running sync.WaitGroup
	for i, do := range work {
		running.Go(func() { errs[i] = do() })
	}
	running.Wait()
	return errors.Join(errs...)
}

func create(ctx context.Context, r *registry.Registry, k *kinds.Kind, o kinds.Object) error {
	_, err := r.Create(ctx, registry.Target{Kind: k}, o, metav1.CreateOptions{FieldManager: manager})
	if apierrors.IsAlreadyExists(err) {
		return nil // another server was faster
	}
	return err
}

func update(ctx context.Context, r *registry.Registry, k *kinds.Kind, o kinds.Object) error {
	_, err := r.Update(ctx, registry.Target{Kind: k, Name: o.GetName()}, o, metav1.UpdateOptions{FieldManager: manager})
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil // somebody is at it
	}
	return err
}

// left reports whether somebody wants to keep an object as it is.
func left(o metav1.Object) bool { return o.GetAnnotations()[rbacv1.AutoUpdateAnnotationKey] == "false" }

// completeRole adds what is missing, and reports whether there was any.
func completeRole(o, want *rbacv1.ClusterRole) bool {
	if left(o) {
		return false
	}
	labels, annotations := addTo(&o.Labels, want.Labels), addTo(&o.Annotations, want.Annotations)
	missing := rbac.Compact(rbac.Missing(o.Rules, want.Rules))
	o.Rules = append(o.Rules, missing...)
	aggregation := o.AggregationRule == nil && want.AggregationRule != nil
	if aggregation {
		o.AggregationRule = want.AggregationRule
	}
	return labels || annotations || aggregation || len(missing) > 0
}

// completeBinding adds what is missing, and reports whether there was any. A binding of another role stays one.
func completeBinding(o, want *rbacv1.ClusterRoleBinding) bool {
	if left(o) || o.RoleRef != want.RoleRef {
		return false
	}
	changed := addTo(&o.Labels, want.Labels)
	changed = addTo(&o.Annotations, want.Annotations) || changed
	for _, s := range want.Subjects {
		if !slices.Contains(o.Subjects, s) {
			o.Subjects = append(o.Subjects, s)
			changed = true
		}
	}
	return changed
}
