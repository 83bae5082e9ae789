// Package node decides what the user that a node is may do: what concerns its own node and the pods on it.
//
// # Usage
//
//	authorizer, err := node.New(node.Options{Pods: pods.Indexer(), Rules: rules})
//	...
//	allowed, reason, err := authorizer.Authorize(ctx, attributes)
//
// A node is a user system:node:NAME in the group system:nodes. It may do what the rules allow, and of that only: with
// nodes and leases what is named as it is; list and watch pods with the field selector spec.nodeName=NAME; get pods that
// are bound to it; get secrets and config maps that these refer to, and list or watch them by name; and have tokens made
// for their service accounts. What a node writes into the objects is not looked at here: admission does that.
//
// # Guarantees
//
//  1. A node reads no node, lease, pod, secret or config map, and gets no token, but as said above. (TestAuthorize,
//     TestReferences)
//  2. What a pod refers to may be read as soon as its binding was answered. (TestFresh, TestReferences)
//  3. A mirror pod, which a node makes itself, lets it read nothing but the pod. (TestReferences)
//
// # Concurrency
//
// An [Authorizer] is safe for concurrent use. It starts nothing.
//
// # Testing
//
// The store of pods may be filled by hand: see package indexer.
package node

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth/rbac"
	"github.com/seed3bce33ad/listwatch/indexer"
)

// Options say how an [Authorizer] decides.
type Options struct {
	// Pods are all pods. It must be set.
	Pods *indexer.Reader[*corev1.Pod]
	// Rules are what nodes may do at all. Without any they may do nothing.
	Rules []rbacv1.PolicyRule
	// Fresh blocks until Pods has what was written before the call. It is called before something is refused because no
	// pod refers to it. Nil: Pods is always fresh.
	Fresh func(context.Context) error
}

// Authorizer is an [auth.Authorizer] that knows nodes, and allows nothing to others. Make one with [New].
type Authorizer struct {
	options    Options
	references *indexer.Index[*corev1.Pod, reference]
}

// New returns an authorizer. It adds an index to the pods, so it is called once for them.
func New(o Options) (*Authorizer, error) {
	references, err := indexer.AddIndexFunc(o.Pods, "references of nodes", referencesOf)
	return &Authorizer{options: o, references: references}, err
}

// Authorize reports whether a node may do it, or why not.
func (z *Authorizer) Authorize(ctx context.Context, a auth.Attributes) (bool, string, error) {
	name, ok := NameOf(a.User)
	if !ok || !slices.ContainsFunc(z.options.Rules, func(r rbacv1.PolicyRule) bool { return rbac.Allows(&r, &a) }) {
		return false, "", nil
	}
	if a.Group == "coordination.k8s.io" && a.Resource == "leases" {
		return decide(checkLease(name, &a))
	}
	if a.Group != "" {
		return true, "", nil
	}
	switch a.Resource {
	case "nodes":
		return decide(checkNode(name, &a))
	case "pods":
		switch {
		case a.Verb == "get":
			return z.decideByPods(ctx, name, &a)
		case (a.Verb == "list" || a.Verb == "watch") && !selectsNode(&a, name):
			return decide("can only list/watch pods with spec.nodeName field selector")
		}
	case "secrets", "configmaps":
		if a.Verb != "get" && a.Name == "" {
			return decide("No Object name found")
		}
		return z.decideByPods(ctx, name, &a)
	case "serviceaccounts":
		return z.decideByPods(ctx, name, &a)
	}
	return true, "", nil
}

// NameOf returns the name of the node that a user is, and false when it is none.
func NameOf(u *auth.User) (string, bool) {
	name, ok := strings.CutPrefix(u.Name, auth.NodePrefix)
	return name, ok && name != "" && slices.Contains(u.Groups, auth.Nodes)
}

// decide allows what has no fault.
func decide(fault string) (bool, string, error) { return fault == "", fault, nil }

// checkLease finds out why a node may not do that with a lease.
func checkLease(name string, a *auth.Attributes) string {
	switch {
	case a.Namespace != corev1.NamespaceNodeLease:
		return fmt.Sprintf("can only access leases in the %q system namespace", corev1.NamespaceNodeLease)
	case a.Verb != "create" && a.Name != name:
		return "can only access node lease with the same name as the requesting node"
	}
	return ""
}

// checkNode finds out why a node may not do that with a node. One that it creates has no name yet.
func checkNode(name string, a *auth.Attributes) string {
	switch {
	case a.Name == name || a.Verb == "create":
		return ""
	case a.Name == "":
		return fmt.Sprintf("node '%s' cannot read all nodes, only its own Node object", name)
	case a.Verb != "get" && a.Verb != "list" && a.Verb != "watch":
		return fmt.Sprintf("node '%s' cannot change '%s', only its own Node object", name, a.Name)
	}
	return fmt.Sprintf("node '%s' cannot read '%s', only its own Node object", name, a.Name)
}

// selectsNode reports whether a list or a watch of pods shows those on a node alone.
func selectsNode(a *auth.Attributes, name string) bool {
	if a.FieldSelector == nil {
		return false
	}
	of, ok := a.FieldSelector.RequiresExactMatch("spec.nodeName")
	return ok && of == name
}

// decideByPods allows what a pod on the node refers to.
func (z *Authorizer) decideByPods(ctx context.Context, name string, a *auth.Attributes) (bool, string, error) {
	r := reference{node: name, resource: a.Resource, namespace: a.Namespace, name: a.Name}
	if z.references.Len(r) > 0 {
		return true, "", nil
	}
	if z.options.Fresh != nil {
		if err := z.options.Fresh(ctx); err != nil {
			return false, "", err
		}
	}
	if z.references.Len(r) > 0 {
		return true, "", nil
	}
	return decide(fmt.Sprintf("no relationship found between node '%s' and this object", name))
}
