package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
)

// maxOperations is how many operations a JSON patch may have.
const maxOperations = 10_000

// limitCopies bounds how many bytes the copy operations of a JSON patch may make of what is there: a few of them that
// copy what was copied would fill any memory. The library has that in a variable, which is set before its first use.
var limitCopies = sync.OnceFunc(func() { jsonpatch.AccumulatedCopySizeLimit = 3 << 20 })

// Patch changes an object, or what its subresource shows of it, by a patch of one of the types
// that its kind takes, and tells what is stored then. A patch without a version is applied to
// what is there, whatever that is; an applied one creates what is not there.
func (r *Registry) Patch(ctx context.Context, t Target, p types.PatchType, data []byte, options metav1.PatchOptions) (Written, error) {
	var warnings []string
	w := write{manager: managerOr(options.FieldManager), dryRun: len(options.DryRun) > 0}
	if p == types.ApplyYAMLPatchType {
		applied, err := parseApplied(data, options.FieldValidation)
		if err != nil {
			return Written{}, err
		}
		manager, force := w.manager, options.Force != nil && *options.Force
		w.manager, w.create = "", t.Subresource == ""
		w.wanted = func(v view, old kinds.Object) (kinds.Object, error) { return v.apply(old, applied, manager, force) }
	} else {
		w.wanted = func(v view, old kinds.Object) (kinds.Object, error) {
			patched, problems, err := v.patch(p, data, old)
			if err != nil {
				return nil, err
			}
			warnings, err = Strict(problems, options.FieldValidation)
			if err != nil {
				err = invalidPatch(data, err)
			}
			return patched, err
		}
	}
	written, err := r.write(ctx, t, w)
	written.Warnings = warnings
	return written, err
}

// Strict turns what was wrong with the fields of a body into warnings or an error, as the
// client wants it; the default is to warn.
func Strict(problems []error, validation string) ([]string, error) {
	switch {
	case len(problems) == 0 || validation == metav1.FieldValidationIgnore:
		return nil, nil
	case validation == metav1.FieldValidationStrict:
		return nil, runtime.NewStrictDecodingError(problems)
	}
	warnings := make([]string, len(problems))
	for i, p := range problems {
		warnings[i] = p.Error()
	}
	return warnings, nil
}

// parseApplied reads what a client applies.
func parseApplied(data []byte, validation string) (*unstructured.Unstructured, error) {
	toJSON := yaml.YAMLToJSON
	if validation == metav1.FieldValidationStrict {
		toJSON = yaml.YAMLToJSONStrict
	}
	o := &unstructured.Unstructured{Object: map[string]any{}}
	data, err := toJSON(data)
	if err == nil {
		err = kjson.Unmarshal(data, &o.Object) // whole numbers stay whole
	}
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding YAML: %v", err))
	}
	if o.GetKind() == "" || o.GetAPIVersion() == "" {
		return nil, apierrors.NewBadRequest("apiVersion and kind must be set in what is applied")
	}
	return o, nil
}

// apply merges what a client applies into old, after a check of who owns what.
func (v view) apply(old kinds.Object, applied *unstructured.Unstructured, manager string, force bool) (kinds.Object, error) {
	o, err := v.owners.Apply(old.DeepCopyObject(), applied.DeepCopy(), manager, force)
	if err != nil {
		if status := apierrors.APIStatus(nil); !errors.As(err, &status) {
			err = internal(err.Error())
		}
		return nil, err
	}
	next := o.(kinds.Object)
	v.kind.Tidy(next)
	return next, nil
}

// patch returns the patched object, and what is wrong with its fields.
func (v view) patch(p types.PatchType, data []byte, old kinds.Object) (kinds.Object, []error, error) {
	before, err := v.kind.Encode(old)
	if err != nil {
		return nil, nil, err
	}
	after, err := v.patched(p, data, before)
	if err != nil {
		return nil, nil, err
	}
	o, problems, err := v.kind.DecodeForm(kinds.JSON, after)
	if err != nil {
		return nil, nil, invalidPatch(data, err)
	}
	return o, problems, nil
}

func (v view) patched(p types.PatchType, data, before []byte) ([]byte, error) {
	switch p {
	case types.JSONPatchType:
		return patchJSON(data, before)
	case types.MergePatchType:
		after, err := jsonpatch.MergePatch(before, data)
		if err != nil {
			err = apierrors.NewBadRequest(err.Error())
		}
		return after, err
	case types.StrategicMergePatchType:
		after, err := strategicpatch.StrategicMergePatch(before, data, v.kind.Empty(false))
		switch {
		case errors.Is(err, mergepatch.ErrBadJSONDoc), errors.Is(err, mergepatch.ErrBadPatchFormatForPrimitiveList),
			errors.Is(err, mergepatch.ErrBadPatchFormatForRetainKeys), errors.Is(err, mergepatch.ErrUnsupportedStrategicMergePatchFormat),
			errors.Is(err, mergepatch.ErrBadPatchFormatForSetElementOrderList):
			err = apierrors.NewBadRequest(err.Error())
		case err != nil:
			err = internal(err.Error())
		}
		return after, err
	}
	return nil, apierrors.NewBadRequest("unknown type of patch: " + string(p))
}

func patchJSON(data, before []byte) ([]byte, error) {
	var operations jsonpatch.Patch
	if err := json.Unmarshal(data, &operations); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if len(operations) > maxOperations {
		return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf(
			"The allowed maximum operations in a JSON patch is %d, got %d", maxOperations, len(operations)))
	}
	limitCopies()
	after, err := apply(operations, before)
	if err != nil {
		return nil, &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid,
			Message: "the server rejected our request due to an error in our request", Details: &metav1.StatusDetails{},
		}}
	}
	return after, nil
}

// apply applies operations. The library panics about some that lack what they need, such as the value of a new document.
func apply(operations jsonpatch.Patch, before []byte) (after []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	return operations.Apply(before)
}

// invalidPatch is the answer to a patch that makes no object.
func invalidPatch(data []byte, err error) error {
	return apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{
		field.Invalid(field.NewPath("patch"), string(bytes.TrimSpace(data)), err.Error())})
}
