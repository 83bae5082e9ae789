// Package bootstrap has the roles and bindings that a server begins with, without which nobody but system:masters could do
// anything: for people, for nodes, and for each component of a cluster. They stand in roles.yaml.
//
// # Usage
//
//	err := bootstrap.Ensure(ctx, registry, stores)
//
// # Guarantees
//
//  1. What is missing is created; of what is there, missing rules and subjects are added and nothing is taken away. A
//     role or binding with the annotation rbac.authorization.kubernetes.io/autoupdate=false is left alone. (TestEnsure)
//  2. What is complete is not written. (TestEnsure)
//
// # Concurrency
//
// [Ensure] may run in several servers at once. It has ended all that it started when it returns.
//
// # Testing
//
// TestRolesAreWhatTheyWere compares what some users may do with a list.
package bootstrap

import (
	_ "embed"
	"maps"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

//go:embed roles.yaml
var table []byte

const (
	bootstrapping = "kubernetes.io/bootstrapping"
	aggregateTo   = "rbac.authorization.k8s.io/aggregate-to-"
	controller    = "system:controller:"
)

// row is one row of the table.
type row struct {
	Name string
	// Into names the roles that have these rules, too; From the one whose parts this one has.
	Into []string
	From string

	Rules         []rbacv1.PolicyRule
	Users, Groups []string
}

// Namespaces returns those that a cluster cannot do without.
func Namespaces() []string {
	return []string{metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic, "kube-node-lease"}
}

// Policy returns the roles and bindings, each anew.
func Policy() ([]rbacv1.ClusterRole, []rbacv1.ClusterRoleBinding, error) {
	var rows []row
	if err := yaml.UnmarshalStrict(table, &rows); err != nil {
		return nil, nil, err
	}
	roles := make([]rbacv1.ClusterRole, len(rows))
	bindings := make([]rbacv1.ClusterRoleBinding, len(rows))
	for i, r := range rows {
		meta := metav1.ObjectMeta{
			Name: r.Name, Labels: map[string]string{bootstrapping: "rbac-defaults"},
			Annotations: map[string]string{rbacv1.AutoUpdateAnnotationKey: "true"},
		}
		bindings[i] = rbacv1.ClusterRoleBinding{
			ObjectMeta: *meta.DeepCopy(), Subjects: r.subjects(),
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: r.Name},
		}
		for _, role := range r.Into {
			meta.Labels[aggregateTo+role] = "true"
		}
		roles[i] = rbacv1.ClusterRole{ObjectMeta: meta, Rules: r.Rules}
		if r.From != "" {
			roles[i].AggregationRule = &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{
				{MatchLabels: map[string]string{aggregateTo + r.From: "true"}}}}
		}
	}
	return roles, bindings, nil
}

func (r row) subjects() []rbacv1.Subject {
	var subjects []rbacv1.Subject
	for _, name := range r.Groups {
		subjects = append(subjects, rbacv1.Subject{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: name})
	}
	users := r.Users
	if name, ok := strings.CutPrefix(r.Name, controller); ok {
		subjects = append(subjects, rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: metav1.NamespaceSystem, Name: name})
		users = []string{"system:kube-controller-manager"}
	}
	for _, name := range users {
		subjects = append(subjects, rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: name})
	}
	return subjects
}

// addTo adds to labels or annotations what is missing, and reports whether there was any.
func addTo(have *map[string]string, want map[string]string) bool {
	before := len(*have)
	merged := maps.Clone(want)
	if merged == nil {
		merged = map[string]string{}
	}
	maps.Copy(merged, *have)
	*have = merged
	return len(merged) > before
}
