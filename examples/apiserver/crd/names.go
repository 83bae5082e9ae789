package crd

import (
	"fmt"
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// taken are the names that others have, of resources and of kinds.
type taken struct{ resources, kinds map[string]bool }

func takenBy(others []*Definition) taken {
	t := taken{map[string]bool{}, map[string]bool{}}
	for _, d := range others {
		n := d.Status.AcceptedNames
		t.kinds[n.Kind], t.kinds[n.ListKind] = true, true
		t.resources[n.Plural], t.resources[n.Singular] = true, true
		for _, name := range n.ShortNames {
			t.resources[name] = true
		}
	}
	return t
}

// decide sets the status of a definition: which of its names it gets beside those that others have, and whether its
// kind is served.
func decide(d *Definition, others taken, now time.Time) {
	asked, has := d.Spec.Names, d.Status.AcceptedNames
	accepted := apiextensionsv1.CustomResourceDefinitionCondition{
		Type: apiextensionsv1.NamesAccepted, Status: apiextensionsv1.ConditionTrue, Reason: "NoConflicts", Message: "no conflicts found",
	}
	take := func(what string, taken map[string]bool, asked string, has *string) {
		if asked != *has && taken[asked] {
			accepted.Status, accepted.Reason = apiextensionsv1.ConditionFalse, what+"Conflict"
			accepted.Message = fmt.Sprintf("%q is already in use", asked)
			return
		}
		*has = asked
	}
	take("Plural", others.resources, asked.Plural, &has.Plural)
	take("Singular", others.resources, asked.Singular, &has.Singular)
	take("Kind", others.kinds, asked.Kind, &has.Kind)
	take("ListKind", others.kinds, asked.ListKind, &has.ListKind)
	short := true
	for _, name := range asked.ShortNames {
		before := ""
		if slices.Contains(has.ShortNames, name) {
			before = name
		}
		take("ShortNames", others.resources, name, &before)
		short = short && before == name
	}
	if short {
		has.ShortNames = asked.ShortNames
	}
	has.Categories = asked.Categories
	d.Status.AcceptedNames = has
	setCondition(d, accepted, now)
	if is(d, apiextensionsv1.Established) {
		return
	}
	established := apiextensionsv1.CustomResourceDefinitionCondition{
		Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue,
		Reason: "InitialNamesAccepted", Message: "the initial names have been accepted",
	}
	if accepted.Status != apiextensionsv1.ConditionTrue {
		established.Status = apiextensionsv1.ConditionFalse
		established.Reason, established.Message = "NotAccepted", "not all names are accepted"
	}
	setCondition(d, established, now)
}
