// Package auth says who sends a request and what it wants to do: the words that those who authenticate,
// authorize and admit have in common.
//
// # Concurrency
//
// A [User] is shared by all who handle its request and must not be changed.
package auth

import (
	"context"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
)

// Names of groups and users with a meaning of their own.
const (
	// Masters is the group whose members may do everything.
	Masters = "system:masters"
	// Authenticated is the group of everybody who has shown who he is.
	Authenticated = "system:authenticated"
	// Unauthenticated is the group of who has not, where such are let in. This server lets none in.
	Unauthenticated = "system:unauthenticated"
	// Nodes is the group of kubelets; the name of one is NodePrefix and that of its node.
	Nodes = "system:nodes"
	// NodePrefix is what the names of kubelets begin with.
	NodePrefix = "system:node:"
	// KubeletClient is who the API server is to kubelets.
	KubeletClient = "kube-apiserver-kubelet-client"
	// ServiceAccounts is the group of all service accounts; those of a namespace are in one more, whose name goes on
	// with ":" and the namespace.
	ServiceAccounts = "system:serviceaccounts"
	// ServiceAccountPrefix is what the names of service accounts begin with; the namespace, ":" and the name follow.
	ServiceAccountPrefix = "system:serviceaccount:"
	// CredentialID is the key in User.Extra of what tells the credentials of a user apart.
	CredentialID = "authentication.kubernetes.io/credential-id"
)

// User is who sends a request.
type User struct {
	// Name is unique among users, such as "system:node:n1".
	Name string
	// UID tells users of one name apart that followed each other. It may be empty.
	UID string
	// Groups are those that the user belongs to.
	Groups []string
	// Extra is what else the credentials say. It may be nil.
	Extra map[string][]string
}

// Node returns the kubelet of a node.
func Node(name string) *User { return &User{Name: NodePrefix + name, Groups: []string{Nodes}} }

// ServiceAccount returns the user that a service account is.
func ServiceAccount(namespace, name string) *User {
	return &User{
		Name:   ServiceAccountPrefix + namespace + ":" + name,
		Groups: []string{ServiceAccounts, ServiceAccounts + ":" + namespace},
	}
}

// SplitServiceAccount returns the namespace and the name of the service account that a user's name tells; false when
// it tells of none.
func SplitServiceAccount(user string) (namespace, name string, ok bool) {
	rest, ok := strings.CutPrefix(user, ServiceAccountPrefix)
	namespace, name, both := strings.Cut(rest, ":")
	return namespace, name, ok && both && namespace != "" && name != "" && !strings.Contains(name, ":")
}

// Attributes are what a request wants to do, and who sends it.
type Attributes struct {
	// User is never nil.
	User *User
	// Verb is what is to be done with a resource, such as "list", or the method in small letters.
	Verb string
	// Group, Version, Resource and Subresource name the resource; Resource is "" when the request is for none.
	Group, Version, Resource, Subresource string
	// Namespace is "" for what is in none, and for all namespaces.
	Namespace string
	// Name is "" for a collection.
	Name string
	// FieldSelector is what a list or a watch selects by fields. Nil: nothing, or nothing that can be read.
	FieldSelector fields.Selector
	// Path is the path of the request.
	Path string
}

// Authenticator finds out who sends a request. It returns nil and no error when the request has no credentials
// of the kind that it knows, and an error when they are not valid.
type Authenticator interface {
	Authenticate(r *http.Request) (*User, error)
}

// Authorizer decides whether a request may do what it wants. The reason is for people, and may be empty.
type Authorizer interface {
	Authorize(ctx context.Context, a Attributes) (allowed bool, reason string, err error)
}

// First is an [Authorizer] that asks several until one allows the request. The reasons of those who did not come
// together.
type First []Authorizer

// Authorize asks all in turn. An error ends it.
func (all First) Authorize(ctx context.Context, a Attributes) (bool, string, error) {
	var reasons []string
	for _, z := range all {
		allowed, reason, err := z.Authorize(ctx, a)
		if allowed || err != nil {
			return allowed, reason, err
		}
		if reason != "" {
			reasons = append(reasons, reason)
		}
	}
	return false, strings.Join(reasons, "\n"), nil
}

type userKey struct{}

// With returns a context that carries the user.
func With(ctx context.Context, u *User) context.Context { return context.WithValue(ctx, userKey{}, u) }

// From returns the user that a context carries, or nil.
func From(ctx context.Context) *User {
	u, _ := ctx.Value(userKey{}).(*User)
	return u
}
