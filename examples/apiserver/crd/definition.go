package crd

import (
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/applyconfiguration"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
)

// Definition is a CustomResourceDefinition.
type Definition = apiextensionsv1.CustomResourceDefinition

// Kind returns the row of apiextensions.k8s.io/v1 CustomResourceDefinitions.
func Kind() *kinds.Kind {
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		panic(err) // the types are those of the package
	}
	of := func(o kinds.Object) *Definition {
		d, _ := o.(*Definition) // nil is for what was not there
		return d
	}
	return &kinds.Kind{
		Group: apiextensionsv1.GroupName, Version: "v1", Kind: "CustomResourceDefinition",
		Resource: "customresourcedefinitions", Singular: "customresourcedefinition",
		ShortNames: []string{"crd", "crds"}, Categories: []string{"api-extensions"},
		Scheme: scheme, Types: applyconfiguration.NewTypeConverter(scheme),
		New:        func() kinds.Object { return new(Definition) },
		Default:    func(o kinds.Object) { apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&of(o).Spec) },
		Prepare:    func(next, _ kinds.Object) { noteStored(of(next)) },
		Check:      func(o kinds.Object) field.ErrorList { return Check(of(o)) },
		Recheck:    func(next, old kinds.Object) field.ErrorList { return checkUpdate(of(next), of(old)) },
		Spec:       func(o kinds.Object) any { return of(o).Spec },
		CopyStatus: func(to, from kinds.Object) { of(to).Status = of(from).Status },
		Holds:      func(o kinds.Object) bool { return of(o).DeletionTimestamp == nil },
		Mark:       func(o kinds.Object) { mark(of(o)) },
	}
}

// noteStored adds the version that objects are stored in to those in which some may be.
func noteStored(d *Definition) {
	for _, v := range d.Spec.Versions {
		if v.Storage && !slices.Contains(d.Status.StoredVersions, v.Name) {
			d.Status.StoredVersions = append(slices.Clone(d.Status.StoredVersions), v.Name)
		}
	}
}

// mark keeps a definition that is to be deleted until its objects have been.
func mark(d *Definition) {
	d.Finalizers = append(slices.Clone(d.Finalizers), apiextensionsv1.CustomResourceCleanupFinalizer)
	setCondition(d, apiextensionsv1.CustomResourceDefinitionCondition{
		Type: apiextensionsv1.Terminating, Status: apiextensionsv1.ConditionTrue,
		Reason: "InstanceDeletionPending", Message: "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
	}, time.Now())
}

// setCondition changes a condition, whose time is that of the last change of its status.
func setCondition(d *Definition, c apiextensionsv1.CustomResourceDefinitionCondition, now time.Time) {
	c.LastTransitionTime = metav1.NewTime(now.UTC().Truncate(time.Second))
	conditions := slices.Clone(d.Status.Conditions)
	for i, before := range conditions {
		if before.Type == c.Type {
			if before.Status == c.Status {
				c.LastTransitionTime = before.LastTransitionTime
			}
			conditions[i] = c
			d.Status.Conditions = conditions
			return
		}
	}
	d.Status.Conditions = append(conditions, c)
}

func is(d *Definition, t apiextensionsv1.CustomResourceDefinitionConditionType) bool {
	for _, c := range d.Status.Conditions {
		if c.Type == t {
			return c.Status == apiextensionsv1.ConditionTrue
		}
	}
	return false
}
