package apiserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/apiserver"
	"github.com/seed3bce33ad/listwatch/fakes/conformance"
	"github.com/seed3bce33ad/listwatch/reflector/rest"
)

// The suite that the fake passes, on a built-in kind; nothing is left out.
// Scenario 105.
func TestConformanceConfigMaps(t *testing.T) {
	collection[*corev1.ConfigMap]{
		api: newSuiteAPI(t), root: "/api/v1", resource: "configmaps",
		contents: func(value string) map[string]any {
			return map[string]any{"data": map[string]string{"value": value}}
		},
		value: func(m *corev1.ConfigMap) string { return m.Data["value"] },
	}.run(t)
}

// The suite on a custom kind, which has a status subresource.
// Scenario 105.
func TestConformanceWidgets(t *testing.T) {
	collection[*unstructured.Unstructured]{
		api: newSuiteAPI(t), root: "/apis/wire.example.com/v1", resource: "widgets", custom: true,
		contents: func(value string) map[string]any {
			return map[string]any{
				"kind": "Widget", "apiVersion": "wire.example.com/v1",
				"spec": map[string]any{"size": 1, "note": value}, "status": map[string]string{"phase": value},
			}
		},
		value: func(w *unstructured.Unstructured) string {
			note, _, _ := unstructured.NestedString(w.Object, "spec", "note")
			return note
		},
	}.run(t,
		// An update of a custom kind needs a version, or the answer is 422: see TestUpdate.
		"UpdateWithoutVersion",
	)
}

// newSuiteAPI returns the server of all cases of a kind. Bookmarks come all the time, so that
// every watch of every case has some between its events.
func newSuiteAPI(t *testing.T) *api {
	t.Helper()
	return newAPI(t, apiserver.Options{
		Namespaces:    suiteNamespaces(),
		BookmarkEvery: 50 * time.Millisecond,
		FutureWait:    10 * time.Millisecond,
		SlowWatch:     time.Minute,
	})
}

// suiteNamespaces are two whose order is another one when "/" comes behind the name.
func suiteNamespaces() []string { return []string{"ord", "ord-b"} }

// stored is an object of the Kubernetes API.
type stored interface {
	listwatch.Object
	metav1.Object
}

// collection is what is checked: the objects of a kind, in all namespaces.
type collection[T stored] struct {
	api            *api
	root, resource string
	// contents are the fields of an object beside its metadata.
	contents func(value string) map[string]any
	value    func(T) string
	// custom kinds have a status, and are not updated without a version.
	custom bool
}

// run runs all cases but those left out. Each finds an empty collection.
func (c collection[T]) run(t *testing.T, leftOut ...string) {
	t.Helper()
	source, err := rest.New[T](c.api.server.URL()+c.root+"/"+c.resource, rest.Options{Client: c.api.client})
	require.NoError(t, err)
	fixture := func(tb conformance.TB) conformance.Fixture[T] { return c.fixture(tb, source) }
	for _, k := range append(conformance.Cases(fixture), conformance.Rules(fixture)...) {
		if i := slices.Index(leftOut, k.Name); i >= 0 {
			leftOut = slices.Delete(leftOut, i, i+1)
			continue
		}
		t.Run(k.Name, func(t *testing.T) { k.Run(t) })
	}
	require.Empty(t, leftOut, "no cases of the suite")
}

func (c collection[T]) fixture(tb conformance.TB, source *rest.Source[T]) conformance.Fixture[T] {
	f := conformance.Fixture[T]{
		Source: source,
		Read:   c.read,
		Create: func(ctx context.Context, s conformance.State) (conformance.State, error) {
			return c.write(ctx, http.MethodPost, c.path(listwatch.Key{Namespace: s.Key.Namespace}), s)
		},
		Update:     func(ctx context.Context, s conformance.State) (conformance.State, error) { return c.update(ctx, s, "") },
		Delete:     c.delete,
		Expire:     c.api.server.Compact,
		Bookmark:   func(context.Context) error { return nil }, // the next one is near
		Code:       codeOf,
		Namespaces: suiteNamespaces(),
		Deadline:   30 * time.Second,
		Close: func() {
			if err := c.empty(tb.Context(), source); err != nil {
				tb.Errorf("emptying the collection: %v", err)
			}
		},
	}
	if c.custom {
		f.UpdateStatus = func(ctx context.Context, s conformance.State) (conformance.State, error) {
			return c.update(ctx, s, "/status")
		}
	}
	return f
}

func (c collection[T]) path(key listwatch.Key) string {
	path := c.root + "/namespaces/" + key.Namespace + "/" + c.resource
	if key.Name != "" {
		path += "/" + key.Name
	}
	return path
}

func (c collection[T]) read(o T) conformance.State {
	return conformance.State{
		Key: listwatch.KeyOf(o), UID: string(o.GetUID()), ResourceVersion: o.GetResourceVersion(), Value: c.value(o),
		Finalizers: o.GetFinalizers(), Deleted: o.GetDeletionTimestamp() != nil,
	}
}

// update is an update of whatever is there when s has no version. A client of a custom kind
// has to look for that itself; when there is nothing, the answer to its update tells.
func (c collection[T]) update(ctx context.Context, s conformance.State, subresource string) (conformance.State, error) {
	if c.custom && s.ResourceVersion == "" {
		present, err := c.decoded(c.exchange(ctx, http.MethodGet, c.path(s.Key), nil))
		if err != nil && codeOf(err) != http.StatusNotFound {
			return conformance.State{}, err
		}
		s.ResourceVersion = present.ResourceVersion
	}
	return c.write(ctx, http.MethodPut, c.path(s.Key)+subresource, s)
}

func (c collection[T]) write(ctx context.Context, method, path string, s conformance.State) (conformance.State, error) {
	meta := metav1.ObjectMeta{
		Namespace: s.Key.Namespace, Name: s.Key.Name, UID: types.UID(s.UID), ResourceVersion: s.ResourceVersion,
		Finalizers: s.Finalizers,
	}
	if s.Deleted {
		meta.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	}
	body := c.contents(s.Value)
	body["metadata"] = meta
	return c.decoded(c.exchange(ctx, method, path, body))
}

func (c collection[T]) delete(ctx context.Context, s conformance.State) error {
	conditions := map[string]string{}
	if s.UID != "" {
		conditions["uid"] = s.UID
	}
	if s.ResourceVersion != "" {
		conditions["resourceVersion"] = s.ResourceVersion
	}
	_, err := c.exchange(ctx, http.MethodDelete, c.path(s.Key), map[string]any{"preconditions": conditions})
	return err
}

// empty removes what a case has left.
func (c collection[T]) empty(ctx context.Context, source *rest.Source[T]) error {
	var left []conformance.State
	_, err := source.List(ctx, listwatch.ListOptions{}, func(objects ...T) error {
		for _, o := range objects {
			left = append(left, c.read(o))
		}
		return nil
	})
	for _, s := range left {
		err = errors.Join(err, c.delete(ctx, conformance.State{Key: s.Key}))
		if len(s.Finalizers) > 0 {
			_, updateErr := c.update(ctx, conformance.State{Key: s.Key, Value: s.Value}, "")
			err = errors.Join(err, updateErr)
		}
	}
	return err
}

func (c collection[T]) decoded(data []byte, err error) (conformance.State, error) {
	var o T
	if err == nil {
		err = json.Unmarshal(data, &o)
	}
	if err != nil {
		return conformance.State{}, err
	}
	return c.read(o), nil
}

// exchange sends a request and reads the answer; a failure is the Status that came back.
func (c collection[T]) exchange(ctx context.Context, method, path string, body any) ([]byte, error) {
	var sent []byte
	if body != nil {
		var err error
		if sent, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	response, err := c.api.send(ctx, method, path, string(sent))
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode < http.StatusMultipleChoices {
		return data, err
	}
	var status metav1.Status
	if err := json.Unmarshal(data, &status); err != nil || int(status.Code) != response.StatusCode {
		return nil, fmt.Errorf("%s %s: %d %s", method, path, response.StatusCode, bytes.TrimSpace(data))
	}
	return nil, &apierrors.StatusError{ErrStatus: status}
}

// codeOf is the code of the Status that an error is, or 0.
func codeOf(err error) int {
	var known apierrors.APIStatus
	if errors.As(err, &known) {
		return int(known.Status().Code)
	}
	return 0
}
