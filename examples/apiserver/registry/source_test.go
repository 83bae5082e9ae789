package registry_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/registry"
	"github.com/seed3bce33ad/listwatch/fakes/conformance"
)

// The suite of all sources, on the registry.
func TestSourceConformance(t *testing.T) {
	fixture := func(tb conformance.TB) conformance.Fixture[*corev1.ConfigMap] {
		r, store := newRegistry(t)
		source := registry.NewSource[*corev1.ConfigMap](r, kinds.ConfigMaps())
		return conformance.Fixture[*corev1.ConfigMap]{
			Source: source, Read: stateOf,
			Create: func(ctx context.Context, s conformance.State) (conformance.State, error) {
				o, err := r.Create(ctx, on(kinds.ConfigMaps(), ""), mapOf(s), metav1.CreateOptions{})
				return read(o, err)
			},
			Update: func(ctx context.Context, s conformance.State) (conformance.State, error) {
				w, err := r.Update(ctx, on(kinds.ConfigMaps(), s.Key.Name), mapOf(s), metav1.UpdateOptions{})
				return read(w.Object, err)
			},
			Delete: func(ctx context.Context, s conformance.State) error {
				_, _, err := r.Delete(ctx, on(kinds.ConfigMaps(), s.Key.Name), metav1.DeleteOptions{})
				return err
			},
			Expire: func(ctx context.Context) error {
				revision, err := store.Revision(ctx)
				if err != nil {
					return err
				}
				r.Forget(revision)
				return store.Compact(ctx, revision)
			},
			Bookmark: func(ctx context.Context) error { _, err := source.Present(ctx); return err },
			Code: func(err error) int {
				if status, ok := err.(apierrors.APIStatus); ok {
					return int(status.Status().Code)
				}
				return 0
			},
			Deadline: 30 * time.Second,
		}
	}
	for _, c := range conformance.Cases(fixture) {
		t.Run(c.Name, func(t *testing.T) { c.Run(t) })
	}
}

func mapOf(s conformance.State) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Key.Namespace, Name: s.Key.Name, UID: types.UID(s.UID), ResourceVersion: s.ResourceVersion, Finalizers: s.Finalizers},
		Data:       map[string]string{"value": s.Value},
	}
}

func read(o kinds.Object, err error) (conformance.State, error) {
	if err != nil {
		return conformance.State{}, err
	}
	return stateOf(o.(*corev1.ConfigMap)), nil
}

func stateOf(m *corev1.ConfigMap) conformance.State {
	return conformance.State{
		Key: listwatch.KeyOf(m), UID: string(m.UID), ResourceVersion: m.ResourceVersion, Value: m.Data["value"],
		Finalizers: m.Finalizers, Deleted: m.DeletionTimestamp != nil,
	}
}

// What has been written when Present is called is told by the version that it returns, also of kinds that rest.
func TestSourceTellsThePresent(t *testing.T) {
	r, _ := newRegistry(t)
	source := registry.NewSource[*corev1.Pod](r, kinds.Pods())
	meta, err := source.List(t.Context(), listwatch.ListOptions{}, func(...*corev1.Pod) error { return nil })
	require.NoError(t, err)
	_, err = r.Create(t.Context(), on(kinds.ConfigMaps(), ""), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "m"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	version, err := source.Present(t.Context())
	require.NoError(t, err)
	require.True(t, listwatch.Newer(version, meta.ResourceVersion))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err = source.Watch(ctx, listwatch.WatchOptions{ResourceVersion: meta.ResourceVersion}, func(events ...listwatch.Event[*corev1.Pod]) error {
		require.Equal(t, listwatch.Bookmark, events[0].Type)
		if !listwatch.Newer(version, events[0].ResourceVersion) {
			cancel()
		}
		return nil
	})
	require.ErrorIs(t, err, context.Canceled)
	ended := source.Watch(t.Context(), listwatch.WatchOptions{ResourceVersion: version, Timeout: time.Millisecond}, func(...listwatch.Event[*corev1.Pod]) error { return nil })
	require.NoError(t, ended, "the time is over")
}
