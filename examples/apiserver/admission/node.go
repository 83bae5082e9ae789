package admission

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/registry"
)

const (
	// nodeUser is what the names of nodes' users begin with, and nodeGroup the group that all are in.
	nodeUser  = "system:node:"
	nodeGroup = "system:nodes"
)

var leases = kinds.Leases()

// admitNode keeps a node from writing what is not its own. Everybody else may pass.
func admitNode(ctx context.Context, a registry.Admission) error {
	u := auth.From(ctx)
	if u == nil || !slices.Contains(u.Groups, nodeGroup) {
		return nil
	}
	node, ok := strings.CutPrefix(u.Name, nodeUser)
	if !ok {
		return nil
	}
	if node == "" {
		return forbidden(a, fmt.Sprintf("could not determine node from user %q", u.Name))
	}
	message, err := "", error(nil)
	switch {
	case is(a, pods):
		message, err = podOfNode(ctx, a, node)
	case is(a, nodes):
		message = itself(a, node)
	case is(a, leases):
		message = leaseOfNode(a, node)
	}
	if err == nil && message != "" {
		return forbidden(a, message)
	}
	return err
}

// podOfNode says what is wrong with a node's write of a pod.
func podOfNode(ctx context.Context, a registry.Admission, node string) (message string, err error) {
	switch {
	case a.Subresource == "status":
		if a.Old.(*corev1.Pod).Spec.NodeName != node {
			message = fmt.Sprintf("node %q can only update pod status for pods with spec.nodeName set to itself", node)
		}
	case a.Subresource == "eviction":
		if a.Old.(*corev1.Pod).Spec.NodeName != node {
			message = fmt.Sprintf("node %s can only evict pods with spec.nodeName set to itself", node)
		}
	case a.Subresource != "":
		message = fmt.Sprintf("unexpected pod subresource %q, only 'status' and 'eviction' are allowed", a.Subresource)
	case a.Verb == "delete":
		if a.Old.(*corev1.Pod).Spec.NodeName != node {
			message = fmt.Sprintf("node %q can only delete pods with spec.nodeName set to itself", node)
		}
	case a.Verb == "create":
		return mirrorPod(ctx, a, node)
	default:
		message = fmt.Sprintf("unexpected operation %q, node %q can only create and delete mirror pods", strings.ToUpper(a.Verb), node)
	}
	return message, nil
}

// mirrorPod says what is wrong with a pod that a node makes to show one that it runs by itself.
func mirrorPod(ctx context.Context, a registry.Admission, node string) (message string, err error) {
	p := a.Object.(*corev1.Pod)
	_, mirror := p.Annotations[corev1.MirrorPodAnnotationKey]
	switch {
	case !mirror:
		return fmt.Sprintf("pod does not have %q annotation, node %q can only create mirror pods", corev1.MirrorPodAnnotationKey, node), nil
	case p.Spec.NodeName != node:
		return fmt.Sprintf("node %q can only create pods with spec.nodeName set to itself", node), nil
	case len(p.OwnerReferences) > 1:
		return fmt.Sprintf("node %q can only create pods with a single owner reference set to itself", node), nil
	case p.Spec.ServiceAccountName != "":
		return fmt.Sprintf("node %q can not create pods that reference a service account", node), nil
	}
	if len(p.OwnerReferences) == 0 {
		return fmt.Sprintf("node %q can only create pods with an owner reference set to itself", node), nil
	}
	owner := p.OwnerReferences[0]
	switch {
	case owner.APIVersion != "v1" || owner.Kind != nodes.Kind || owner.Name != node:
		return fmt.Sprintf("node %q can only create pods with an owner reference set to itself", node), nil
	case !ptr.Deref(owner.Controller, false):
		return fmt.Sprintf("node %q can only create pods with a controller owner reference set to itself", node), nil
	case ptr.Deref(owner.BlockOwnerDeletion, false):
		return fmt.Sprintf("node %q must not set blockOwnerDeletion on an owner reference", node), nil
	}
	if from := referenced(&p.Spec); from != "" {
		return fmt.Sprintf("node %q can not create pods that reference %s", node, from), nil
	}
	o, err := a.Registry.Get(ctx, registry.Target{Kind: nodes, Name: node}, "")
	if apierrors.IsNotFound(err) {
		return fmt.Sprintf("node %q can only create pods for a node that exists", node), nil
	}
	if err == nil && o.GetUID() != owner.UID {
		message = fmt.Sprintf("node %s UID mismatch: expected %s got %s", node, owner.UID, o.GetUID())
	}
	return message, err
}

// referenced names what a pod takes from the API that a mirror pod must not: who makes one could read it then.
func referenced(s *corev1.PodSpec) string {
	if len(s.ImagePullSecrets) > 0 {
		return "secrets"
	}
	for _, v := range s.Volumes {
		switch {
		case v.Secret != nil:
			return "secrets"
		case v.ConfigMap != nil:
			return "configmaps"
		case v.PersistentVolumeClaim != nil:
			return "persistentvolumeclaims"
		case v.Projected != nil:
			return "projected volumes"
		case v.CSI != nil || v.Ephemeral != nil:
			return "volumes of drivers"
		}
	}
	for _, containers := range [][]corev1.Container{s.InitContainers, s.Containers} {
		for _, c := range containers {
			for _, e := range c.EnvFrom {
				if e.SecretRef != nil {
					return "secrets"
				}
				return "configmaps"
			}
			for _, e := range c.Env {
				switch from := e.ValueFrom; {
				case from != nil && from.SecretKeyRef != nil:
					return "secrets"
				case from != nil && from.ConfigMapKeyRef != nil:
					return "configmaps"
				}
			}
		}
	}
	return ""
}

// itself says what is wrong with a node's write of a node.
func itself(a registry.Admission, node string) string {
	name := a.Name
	if a.Verb == "create" {
		name = a.Object.GetName()
	}
	if name != node {
		return fmt.Sprintf("node %q is not allowed to modify node %q", node, name)
	}
	if a.Verb == "delete" {
		return ""
	}
	next, old := a.Object.(*corev1.Node), &corev1.Node{}
	if a.Old != nil {
		old = a.Old.(*corev1.Node)
	}
	if labels := reserved(next.Labels, old.Labels); len(labels) > 0 {
		doing := "modify labels"
		if a.Old == nil {
			doing = "set the following labels"
		}
		return fmt.Sprintf("is not allowed to %s: %s", doing, strings.Join(labels, ", "))
	}
	switch {
	case a.Old == nil:
		return ""
	case !equality.Semantic.DeepEqual(next.Spec.Taints, old.Spec.Taints):
		return fmt.Sprintf("node %q is not allowed to modify taints", node)
	case !equality.Semantic.DeepEqual(next.OwnerReferences, old.OwnerReferences):
		return fmt.Sprintf("node %q is not allowed to modify ownerReferences", node)
	}
	return ""
}

// ownLabels are the labels of Kubernetes that a node may set of itself, and ownDomains those whose labels it may.
var (
	ownLabels = sets.New(
		corev1.LabelHostname, corev1.LabelArchStable, corev1.LabelOSStable, corev1.LabelInstanceType, corev1.LabelInstanceTypeStable,
		corev1.LabelTopologyRegion, corev1.LabelTopologyZone, corev1.LabelFailureDomainBetaRegion, corev1.LabelFailureDomainBetaZone,
		"beta.kubernetes.io/arch", "beta.kubernetes.io/os",
	)
	ownDomains = []string{"kubelet.kubernetes.io", "node.kubernetes.io"}
)

// reserved returns the labels that differ and that a node may not choose itself: by them others say what may run there.
func reserved(next, old map[string]string) []string {
	found := sets.New[string]()
	for key := range sets.KeySet(next).Union(sets.KeySet(old)) {
		now, is := next[key]
		before, was := old[key]
		if now == before && is == was {
			continue
		}
		domain, _, _ := strings.Cut(key, "/")
		within := func(of string) bool { return domain == of || strings.HasSuffix(domain, "."+of) }
		switch {
		case !strings.Contains(key, "/"), ownLabels.Has(key):
		case within(corev1.LabelNamespaceNodeRestriction):
			found.Insert(key)
		case slices.ContainsFunc(ownDomains, within):
		case within("kubernetes.io"), within("k8s.io"):
			found.Insert(key)
		}
	}
	return sets.List(found)
}

// leaseOfNode says what is wrong with a node's write of a lease.
func leaseOfNode(a registry.Admission, node string) string {
	name := a.Name
	if a.Verb == "create" {
		name = a.Object.GetName()
	}
	switch {
	case a.Namespace != corev1.NamespaceNodeLease:
		return fmt.Sprintf("can only access leases in the %q system namespace", corev1.NamespaceNodeLease)
	case name != node:
		return "can only access node lease with the same name as the requesting node"
	}
	return ""
}
