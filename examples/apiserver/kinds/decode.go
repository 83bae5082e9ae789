package kinds

import (
	"bytes"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	kjson "k8s.io/apimachinery/pkg/util/json"
	sigsjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/seed3bce33ad/listwatch/internal/json"
)

// The forms in which objects are sent and answered.
const (
	JSON     = "application/json"
	YAML     = "application/yaml"
	Protobuf = "application/vnd.kubernetes.protobuf"
)

// ErrForm is the error of a form that a kind is not sent in.
var ErrForm = errors.New("the body is in a form that the kind has not")

// Decode reads an object that a client sent as JSON, as [Kind.DecodeForm] does.
func (k *Kind) Decode(data []byte) (Object, error) {
	o, _, err := k.DecodeForm(JSON, data)
	return o, err
}

// DecodeForm reads an object that a client sent in one of the forms. Its kind may be left out,
// but for custom kinds; another kind is refused. Unknown fields and those that are there twice
// are no errors; they are told as problems.
func (k *Kind) DecodeForm(form string, data []byte) (o Object, problems []error, err error) {
	switch form {
	case JSON:
	case YAML:
		if _, err := yaml.YAMLToJSONStrict(data); err != nil {
			problems = append(problems, err)
		}
		if data, err = yaml.YAMLToJSON(data); err != nil {
			return nil, nil, err
		}
	case Protobuf:
		o, err = k.decodeProtobuf(data)
		return o, nil, err
	default:
		return nil, nil, ErrForm
	}
	if err := k.checkHead(data); err != nil {
		return nil, nil, err
	}
	o = k.Empty(false)
	var into any = o
	u, custom := o.(*unstructured.Unstructured)
	if custom {
		into = &u.Object
	}
	strict, err := sigsjson.UnmarshalStrict(data, into)
	if err != nil {
		return nil, nil, fmt.Errorf("%s in version %q cannot be handled as a %s: %w", k.Kind, k.Version, k.Kind, err)
	}
	k.Tidy(o)
	problems = append(problems, strict...)
	if k.Prune != nil {
		unknown, err := k.Prune(o)
		if err != nil {
			return nil, nil, fmt.Errorf("%s in version %q cannot be handled as a %s: %w", k.Kind, k.Version, k.Kind, err)
		}
		problems = append(problems, unknown...)
	}
	return o, problems, nil
}

// checkHead refuses what is of another kind.
func (k *Kind) checkHead(data []byte) error {
	var head metav1.TypeMeta
	if err := kjson.Unmarshal(data, &head); err != nil {
		return fmt.Errorf("couldn't get version/kind; json parse error: %w", err)
	}
	if k.Custom && head.Kind == "" {
		return fmt.Errorf("Object 'Kind' is missing in '%s'", data)
	}
	return k.checkKind(head.APIVersion, head.Kind)
}

func (k *Kind) checkKind(version, kind string) error {
	want := k.GroupVersionKind()
	if kind != "" && kind != want.Kind || version != "" && version != want.GroupVersion().String() {
		return fmt.Errorf("the kind %q of %q in the data does not match the expected %q of %q",
			kind, version, want.Kind, want.GroupVersion())
	}
	return nil
}

func (k *Kind) decodeProtobuf(data []byte) (Object, error) {
	if k.Custom {
		return nil, ErrForm
	}
	want := k.GroupVersionKind()
	o, _, err := protobuf.NewSerializer(k.Knows(), k.Knows()).Decode(data, &want, nil)
	if err != nil {
		return nil, err
	}
	gvk := o.GetObjectKind().GroupVersionKind()
	if err := k.checkKind(gvk.GroupVersion().String(), gvk.Kind); err != nil {
		return nil, err
	}
	object := o.(Object)
	k.Tidy(object)
	return object, nil
}

// EncodeProtobuf writes an object, or a list of the kind, in the form that only built-in kinds
// have.
func (k *Kind) EncodeProtobuf(o runtime.Object) ([]byte, error) {
	if k.Custom {
		return nil, ErrForm
	}
	var buffer bytes.Buffer
	err := protobuf.NewSerializer(k.Knows(), k.Knows()).Encode(o, &buffer)
	return buffer.Bytes(), err
}

// stored reads what was written here: whole numbers without a type stay whole.
var stored = func() *json.Decoder {
	d, err := json.New(json.Options{Integers: true})
	if err != nil {
		panic(err) // the options are those above
	}
	return d
}()

// DecodeStored reads an object that [Kind.EncodeStored] wrote, and gives it the version.
func (k *Kind) DecodeStored(data []byte, version string) (Object, error) {
	o := k.Empty(false)
	var into any = o
	if u, ok := o.(*unstructured.Unstructured); ok {
		into = &u.Object
	}
	if err := stored.Unmarshal(data, into); err != nil {
		return nil, fmt.Errorf("stored %s: %w", k.Resource, err)
	}
	k.Tidy(o)
	if k.Recast != nil {
		k.Recast(o)
	}
	o.SetResourceVersion(version)
	return o, nil
}

// Tidy brings an object that comes from elsewhere into the form that all have here: the kind of
// a built-in one stands in the row alone.
func (k *Kind) Tidy(o Object) {
	if u, ok := o.(*unstructured.Unstructured); ok {
		if _, ok := u.Object["metadata"].(map[string]any); !ok {
			u.Object["metadata"] = map[string]any{}
		}
		return
	}
	o.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
}
