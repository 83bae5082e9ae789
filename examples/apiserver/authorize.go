package apiserver

import (
	"context"
	"errors"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth/bootstrap"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth/node"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth/rbac"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/registry"
	"github.com/seed3bce33ad/listwatch/indexer"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/reflector"
)

// settleWait is how long a write of roles waits until it is in force; more than that only a server takes that has
// lost its etcd.
const settleWait = 5 * time.Second

// authority is what decides by roles, bindings and pods, and the informers that keep them in memory.
type authority struct {
	rbac    *rbac.Authorizer
	node    *node.Authorizer
	factory informer.Factory
	// settle blocks until the informer of a resource has what was written before the call.
	settle  map[string]func(context.Context) error
	running sync.WaitGroup
	cancel  context.CancelFunc
}

// startAuthority begins to decide who may do what, if that is wanted.
func (s *Server) startAuthority(ctx context.Context) error {
	s.authorizer = s.options.Authorizer
	if !s.options.RBAC {
		return nil
	}
	a := &authority{settle: make(map[string]func(context.Context) error)}
	// The context outlives ctx, which is only for the start.
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	a.cancel = cancel
	s.authority = a
	a.factory.Options = informer.Options{Logger: s.options.Logger, Reflector: reflector.Options{
		FirstList: reflector.FirstPages, BackoffBase: 50 * time.Millisecond, BackoffMax: time.Second, Grace: 10 * time.Second,
	}}
	stores := rbac.Stores{
		Roles: follow[*rbacv1.Role](s, kinds.Roles(), nil), ClusterRoles: follow[*rbacv1.ClusterRole](s, kinds.ClusterRoles(), nil),
		RoleBindings:        follow[*rbacv1.RoleBinding](s, kinds.RoleBindings(), nil),
		ClusterRoleBindings: follow[*rbacv1.ClusterRoleBinding](s, kinds.ClusterRoleBindings(), nil),
	}
	pods := follow(s, kinds.Pods(), node.Trim)
	if err := a.decide(stores, pods); err != nil {
		return err
	}
	a.running.Go(func() {
		if err := a.factory.Run(running); err != nil {
			s.options.Logger.Error("what users may do is not known any more", "error", err)
		}
	})
	if err := a.factory.WaitForSync(ctx); err != nil {
		return err
	}
	if err := bootstrap.Ensure(ctx, s.registry, stores); err != nil {
		return err
	}
	s.authorizer = auth.First{a.node, a.rbac}
	return errors.Join(a.settle["clusterroles"](ctx), a.settle["clusterrolebindings"](ctx))
}

// decide makes the authorizers, before the stores have anything.
func (a *authority) decide(stores rbac.Stores, pods *indexer.Reader[*corev1.Pod]) error {
	roles, _, err := bootstrap.Policy()
	if err != nil {
		return err
	}
	o := node.Options{Pods: pods, Fresh: a.settle["pods"]}
	for _, r := range roles {
		if r.Name == "system:node" {
			o.Rules = r.Rules
		}
	}
	a.rbac, err = rbac.New(stores)
	if err != nil {
		return err
	}
	a.node, err = node.New(o)
	return err
}

// follow keeps a kind in memory, each object as trim returns it.
func follow[T kinds.Object](s *Server, k *kinds.Kind, trim func(T) (T, error)) *indexer.Reader[T] {
	source := registry.NewSource[T](s.registry, k)
	var read listwatch.ListerWatcher[T] = source
	if trim != nil {
		read = listwatch.Transform(read, trim)
	}
	i, err := informer.Of(&s.authority.factory, k.Resource, read)
	if err != nil {
		panic(err) // two of one name
	}
	s.authority.settle[k.Resource] = func(ctx context.Context) error {
		version, err := source.Present(ctx)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, settleWait)
		defer cancel()
		select {
		case <-i.Reached(version).Done():
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return i.Indexer()
}

func (a *authority) close() {
	a.cancel()
	a.running.Wait()
}

// settled waits until a write is in force, when it is one of roles or bindings: who lost a right has lost it when the
// answer comes.
func (s *Server) settled(ctx context.Context, t registry.Target) error {
	if s.authority == nil || t.Kind.Group != rbacv1.GroupName {
		return nil
	}
	return s.authority.settle[t.Kind.Resource](ctx)
}

// admit is asked before each write.
func (s *Server) admit(ctx context.Context, a registry.Admission) error {
	if u := auth.From(ctx); u != nil && a.Verb == "create" && a.Name != "" && a.Subresource == "" { // by an update or a patch, which may be allowed to more
		err := s.authorize(ctx, auth.Attributes{
			User: u, Verb: a.Verb, Group: a.Kind.Group, Version: a.Kind.Version, Resource: a.Kind.Resource, Namespace: a.Namespace, Name: a.Name})
		if err != nil {
			return err
		}
	}
	if s.authority != nil && s.authority.rbac != nil {
		if err := s.authority.rbac.Admit(ctx, a); err != nil {
			return err
		}
	}
	return s.rules.Admit(ctx, a)
}
