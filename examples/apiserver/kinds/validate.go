package kinds

import (
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Validate returns what is wrong with an object, its metadata included.
func (k *Kind) Validate(o Object) field.ErrorList {
	errs := k.checkMetadata(o)
	if k.Check != nil {
		errs = append(errs, k.Check(o)...)
	}
	return errs
}

// ValidateNext returns what is wrong with an object that is to take the place of old.
func (k *Kind) ValidateNext(next, old Object) field.ErrorList {
	if k.Recheck != nil {
		return append(k.checkMetadata(next), k.Recheck(next, old)...)
	}
	return append(k.Validate(next), k.ValidateUpdate(next, old)...)
}

func (k *Kind) checkMetadata(o Object) field.ErrorList {
	name := validation.ValidateNameFunc(validation.NameIsDNSSubdomain)
	if k.Name != nil {
		name = k.Name
	}
	return validation.ValidateObjectMetaAccessor(o, k.Namespaced, name, field.NewPath("metadata"))
}
