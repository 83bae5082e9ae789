package kinds

import (
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Validate returns what is wrong with an object, its metadata included.
func (k *Kind) Validate(o Object) field.ErrorList {
	name := validation.ValidateNameFunc(validation.NameIsDNSSubdomain)
	if k.Name != nil {
		name = k.Name
	}
	errs := validation.ValidateObjectMetaAccessor(o, k.Namespaced, name, field.NewPath("metadata"))
	if k.Check != nil {
		errs = append(errs, k.Check(o)...)
	}
	return errs
}
