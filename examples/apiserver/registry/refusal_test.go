package registry_test

import (
	"errors"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/registry"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/storage"
)

func configMap(change func(*metav1.ObjectMeta)) *corev1.ConfigMap {
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	change(&m.ObjectMeta)
	return m
}

// code is the code of the answer that an error is.
func code(t *testing.T, err error) int32 {
	t.Helper()
	var status apierrors.APIStatus
	require.True(t, errors.As(err, &status), "%v", err)
	return status.Status().Code
}

func TestCreateRefuses(t *testing.T) {
	r, _ := newRegistry(t)
	kind := kinds.ConfigMaps()
	for name, c := range map[string]struct {
		code int32
		meta func(*metav1.ObjectMeta)
	}{
		"a version":         {500, func(m *metav1.ObjectMeta) { m.ResourceVersion = "5" }},
		"another namespace": {400, func(m *metav1.ObjectMeta) { m.Namespace = "other" }},
		"a bad name":        {422, func(m *metav1.ObjectMeta) { m.Name = "A" }},
		"no name":           {422, func(m *metav1.ObjectMeta) { m.Name = "" }},
	} {
		_, err := r.Create(t.Context(), on(kind, ""), configMap(c.meta), metav1.CreateOptions{})
		require.Equal(t, c.code, code(t, err), name)
	}
	nowhere := registry.Target{Kind: kind, Namespace: "nowhere"}
	_, err := r.Create(t.Context(), nowhere, configMap(func(*metav1.ObjectMeta) {}), metav1.CreateOptions{})
	require.Equal(t, int32(404), code(t, err))

	made, err := r.Create(t.Context(), on(kind, ""), configMap(func(m *metav1.ObjectMeta) { m.Name, m.GenerateName = "", "gen-" }), metav1.CreateOptions{})
	require.NoError(t, err)
	require.Regexp(t, "^gen-.{5}$", made.GetName())

	ending := registry.Target{Kind: kinds.Namespaces(), Name: "ending"}
	_, err = r.Create(t.Context(), ending, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ending", Finalizers: []string{"example.com/a"}}}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, _, err = r.Delete(t.Context(), ending, metav1.DeleteOptions{})
	require.NoError(t, err)
	_, err = r.Create(t.Context(), registry.Target{Kind: kind, Namespace: "ending"}, configMap(func(*metav1.ObjectMeta) {}), metav1.CreateOptions{})
	require.True(t, apierrors.HasStatusCause(err, "NamespaceTerminating"))
}

func TestUpdateRefuses(t *testing.T) {
	r, _ := newRegistry(t)
	kind := kinds.ConfigMaps()
	_, err := r.Create(t.Context(), on(kind, ""), configMap(func(m *metav1.ObjectMeta) { m.Finalizers = []string{"example.com/a"} }), metav1.CreateOptions{})
	require.NoError(t, err)
	marked, gone, err := r.Delete(t.Context(), on(kind, "a"), metav1.DeleteOptions{})
	require.NoError(t, err)
	require.False(t, gone)
	for name, c := range map[string]struct {
		code int32
		meta func(*metav1.ObjectMeta)
	}{
		"another name":      {400, func(m *metav1.ObjectMeta) { m.Name = "b" }},
		"another namespace": {400, func(m *metav1.ObjectMeta) { m.Namespace = "other" }},
		"a bad version":     {500, func(m *metav1.ObjectMeta) { m.ResourceVersion = "x" }},
		"another identity":  {409, func(m *metav1.ObjectMeta) { m.UID = types.UID("other") }},
		"a new finalizer":   {422, func(m *metav1.ObjectMeta) { m.Finalizers = []string{"example.com/a", "example.com/b"} }},
	} {
		_, err := r.Update(t.Context(), on(kind, "a"), configMap(c.meta), metav1.UpdateOptions{})
		require.Equal(t, c.code, code(t, err), name)
	}
	last, err := r.Update(t.Context(), on(kind, "a"), configMap(func(*metav1.ObjectMeta) {}), metav1.UpdateOptions{})
	require.NoError(t, err)
	require.Equal(t, marked.GetResourceVersion(), last.Object.GetResourceVersion())
	_, err = r.Get(t.Context(), on(kind, "a"), "")
	require.True(t, apierrors.IsNotFound(err), "the last finalizer is gone")

	widget := func() *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"name": "w"}, "spec": map[string]any{"size": int64(1)},
		}}
	}
	_, err = r.Update(t.Context(), on(widgets(t), "w"), widget(), metav1.UpdateOptions{})
	require.True(t, apierrors.IsNotFound(err), "%v", err)
	_, err = r.Create(t.Context(), on(widgets(t), ""), widget(), metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = r.Update(t.Context(), on(widgets(t), "w"), widget(), metav1.UpdateOptions{})
	require.Equal(t, int32(422), code(t, err), "a custom kind's update must say its version")
}

func TestReadRefuses(t *testing.T) {
	r, store := newRegistry(t)
	kind := kinds.ConfigMaps()
	for _, name := range []string{"a", "b", "c"} {
		_, err := r.Create(t.Context(), on(kind, ""), configMap(func(m *metav1.ObjectMeta) { m.Name = name }), metav1.CreateOptions{})
		require.NoError(t, err)
	}
	page, err := r.List(t.Context(), on(kind, ""), metav1.ListOptions{Limit: 1})
	require.NoError(t, err)
	_, _, err = r.Delete(t.Context(), on(kind, "a"), metav1.DeleteOptions{})
	require.NoError(t, err)
	now, err := store.Revision(t.Context())
	require.NoError(t, err)
	require.NoError(t, store.Compact(t.Context(), now))
	r.Forget(now)

	no, yes := false, true
	for name, c := range map[string]struct {
		list, watch int32
		o           metav1.ListOptions
	}{
		"contradiction":    {422, 422, metav1.ListOptions{ResourceVersionMatch: "Bogus", ResourceVersion: "1"}},
		"label selector":   {400, 400, metav1.ListOptions{LabelSelector: "a b"}},
		"field selector":   {400, 400, metav1.ListOptions{FieldSelector: "a"}},
		"unknown field":    {400, 400, metav1.ListOptions{FieldSelector: "spec.x=1"}},
		"bad version":      {400, 500, metav1.ListOptions{ResourceVersion: "x"}},
		"bad token":        {400, 0, metav1.ListOptions{Continue: "x"}},
		"token, version":   {400, 0, metav1.ListOptions{Continue: page.Meta.Continue, ResourceVersion: "1"}},
		"expired token":    {410, 0, metav1.ListOptions{Continue: page.Meta.Continue}},
		"expired":          {410, 0, metav1.ListOptions{ResourceVersion: page.Meta.ResourceVersion, ResourceVersionMatch: "Exact"}},
		"future":           {504, 0, metav1.ListOptions{ResourceVersion: "99999"}},
		"watch from then":  {0, 410, metav1.ListOptions{ResourceVersion: "1"}},
		"stream of future": {0, 504, metav1.ListOptions{ResourceVersion: "99999", SendInitialEvents: &yes, ResourceVersionMatch: "NotOlderThan"}},
	} {
		if c.list != 0 {
			_, err := r.List(t.Context(), on(kind, ""), c.o)
			require.Equal(t, c.list, code(t, err), name)
		}
		if c.watch != 0 {
			w, err := r.NewWatch(t.Context(), on(kind, ""), c.o)
			if err == nil {
				err = w.Run(t.Context(), func(registry.Batch) error { return errEnough })
			}
			require.Equal(t, c.watch, code(t, err), name)
		}
	}
	// Any version is what the cache holds; from here on that is no older than the delete.
	_, err = r.List(t.Context(), on(kind, ""), metav1.ListOptions{ResourceVersion: strconv.FormatInt(now, 10)})
	require.NoError(t, err)
	all, err := r.List(t.Context(), on(kind, ""), metav1.ListOptions{ResourceVersion: "0", Limit: 1})
	require.NoError(t, err)
	require.Len(t, all.Objects, 2, "no pages")
	rest, err := r.List(t.Context(), on(kind, ""), metav1.ListOptions{
		Continue: storage.Token{Revision: -1, From: "c"}.Encode(), ResourceVersion: "0", Limit: 1})
	require.NoError(t, err)
	require.Len(t, rest.Objects, 1)
	w, err := r.NewWatch(t.Context(), on(kind, ""), metav1.ListOptions{SendInitialEvents: &no, ResourceVersionMatch: "NotOlderThan"})
	require.NoError(t, err)
	require.Equal(t, rest.Meta.ResourceVersion, w.Start(), "from now on")
}
