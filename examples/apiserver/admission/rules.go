package admission

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/registry"
)

// The rows of what the rules read.
var (
	namespaces      = kinds.Namespaces()
	serviceAccounts = kinds.ServiceAccounts()
	nodes           = kinds.Nodes()
	quotas          = kinds.ResourceQuotas()
)

// Rules are those that the cluster has for writes. The zero value has all but those that must be asked for. It is safe for
// concurrent use.
type Rules struct {
	// ServiceAccounts has every pod run as a service account, which must be there. Somebody must make the accounts
	// named "default" then. Defaults to not.
	ServiceAccounts bool
}

// Admit refuses what is against the rules, and completes what they want completed. It is for
// [registry.Options.Admit]; its errors are answers of the API, or else failures of the server.
func (r Rules) Admit(ctx context.Context, a registry.Admission) error {
	if err := admitNamespace(ctx, a); err != nil {
		return err
	}
	if r.ServiceAccounts {
		if err := admitServiceAccount(ctx, a); err != nil {
			return err
		}
	}
	return admitNode(ctx, a)
}

// is reports whether a write is about objects of a kind.
func is(a registry.Admission, k *kinds.Kind) bool {
	return a.Kind.Group == k.Group && a.Kind.Resource == k.Resource
}

// forbidden is the answer to a write that is against a rule.
func forbidden(a registry.Admission, message string) *apierrors.StatusError {
	name := a.Name
	if name == "" && a.Object != nil {
		if name = a.Object.GetName(); name == "" {
			name = a.Object.GetGenerateName()
		}
	}
	return apierrors.NewForbidden(a.Kind.GroupResource(), name, errors.New(message))
}
