package kinds

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
)

// Kinds is a table of kinds. The zero value is empty. It is safe for concurrent use as long as
// nobody changes it.
type Kinds []*Kind

// Table returns the kinds that the server serves by default.
func Table() Kinds {
	return Kinds{
		ConfigMaps(), Endpoints(), Events(), LimitRanges(), Namespaces(), Nodes(), Pods(), ReplicationControllers(),
		ResourceQuotas(), Secrets(), ServiceAccounts(), Services(),
		Deployments(), ReplicaSets(), HorizontalPodAutoscalers(), Jobs(), Leases(), EndpointSlices(),
		SelfSubjectReviews(), TokenReviews(),
		LocalSubjectAccessReviews(), SelfSubjectAccessReviews(), SelfSubjectRulesReviews(), SubjectAccessReviews(),
		ClusterRoleBindings(), ClusterRoles(), RoleBindings(), Roles(),
	}
}

// Find returns the kind of a resource.
func (t Kinds) Find(group, version, resource string) (*Kind, bool) {
	for _, k := range t {
		if k.Group == group && k.Version == version && k.Resource == resource {
			return k, true
		}
	}
	return nil, false
}

// GroupVersions returns the groups and versions of all kinds: by name of the group, then the most
// mature and newest version first.
func (t Kinds) GroupVersions() []schema.GroupVersion {
	var gvs []schema.GroupVersion
	for _, k := range t {
		if gv := (schema.GroupVersion{Group: k.Group, Version: k.Version}); !slices.Contains(gvs, gv) {
			gvs = append(gvs, gv)
		}
	}
	slices.SortFunc(gvs, func(a, b schema.GroupVersion) int {
		if byGroup := strings.Compare(a.Group, b.Group); byGroup != 0 {
			return byGroup
		}
		return version.CompareKubeAwareVersionStrings(b.Version, a.Version)
	})
	return gvs
}
