package registry

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/cacher"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
	"github.com/seed3bce33ad/listwatch/internal/json"
	"github.com/seed3bce33ad/listwatch/internal/jsonstream"
)

// checkOptions refuses options that contradict each other.
func checkOptions(o metav1.ListOptions) error {
	errs := validation.ValidateListOptions(&internalversion.ListOptions{
		Watch: o.Watch, ResourceVersion: o.ResourceVersion, ResourceVersionMatch: o.ResourceVersionMatch,
		Limit: o.Limit, Continue: o.Continue, SendInitialEvents: o.SendInitialEvents,
		AllowWatchBookmarks: o.AllowWatchBookmarks,
	}, true)
	if len(errs) > 0 {
		return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "ListOptions"}, "", errs)
	}
	return nil
}

// selector decides which objects a list or a watch shows.
type selector struct {
	kind   *kinds.Kind
	labels labels.Selector
	fields fields.Selector
}

func newSelector(k *kinds.Kind, o metav1.ListOptions) (selector, error) {
	l, err := labels.Parse(o.LabelSelector)
	if err != nil {
		return selector{}, apierrors.NewBadRequest(err.Error())
	}
	f, err := fields.ParseSelector(o.FieldSelector)
	if err != nil {
		return selector{}, apierrors.NewBadRequest(err.Error())
	}
	s := selector{kind: k, labels: l, fields: f}
	known := s.fieldsOf(k.Empty(false))
	for _, r := range f.Requirements() {
		if known.Has(r.Field) {
			continue
		}
		if k.Fields == nil {
			return selector{}, apierrors.NewBadRequest(fmt.Sprintf(
				"%q is not a known field selector: only \"metadata.name\", \"metadata.namespace\"", r.Field))
		}
		return selector{}, apierrors.NewBadRequest("field label not supported: " + r.Field)
	}
	return s, nil
}

func (s selector) empty() bool { return s.labels.Empty() && s.fields.Empty() }

// matches reports whether an entry is shown. What is looked at is read at most once for all selectors.
func (s selector) matches(e *cacher.Entry) (bool, error) {
	if e.Err != nil || s.empty() {
		return e.Err == nil, e.Err
	}
	if name, ok := s.fields.RequiresExactMatch("metadata.name"); ok && name != e.GetName() {
		return false, nil
	}
	if !s.labels.Empty() {
		set, err := e.Memo("labels", func() (any, error) { return labelsOf(e.Value) })
		if err != nil || !s.labels.Matches(set.(labels.Set)) {
			return false, err
		}
	}
	if s.fields.Empty() {
		return true, nil
	}
	set, err := e.Memo("fields", func() (any, error) {
		o, err := s.kind.DecodeStored(e.Value, "")
		if err != nil {
			return nil, err
		}
		return s.fieldsOf(o), nil
	})
	return err == nil && s.fields.Matches(set.(fields.Set)), err
}

// labelsOf reads the labels of an object, which stand near its beginning, and nothing else.
func labelsOf(object []byte) (labels.Set, error) {
	var set labels.Set
	data, err := jsonstream.Find(object, "metadata", "labels")
	if err == nil && data != nil {
		err = json.Unmarshal(data, &set)
	}
	return set, err
}

func (s selector) fieldsOf(o kinds.Object) fields.Set {
	set := fields.Set{}
	if s.kind.Fields != nil {
		set = s.kind.Fields(o)
	}
	set["metadata.name"] = o.GetName()
	set["metadata.namespace"] = o.GetNamespace()
	return set
}
