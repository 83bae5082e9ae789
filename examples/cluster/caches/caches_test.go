package caches_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientrest "k8s.io/client-go/rest"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/apiserver"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/etcd"
	"github.com/seed3bce33ad/listwatch/examples/cluster/caches"
	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/informer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is an API server whose etcd can be looked into, with a factory that reads from it.
type rig struct {
	db      *etcd.Etcd
	server  *apiserver.Server
	cluster *kube.Cluster
	factory *informer.Factory
}

func start(t *testing.T) *rig {
	r := &rig{factory: &informer.Factory{Options: informer.Options{Logger: slog.New(slog.DiscardHandler)}}}
	var err error
	r.db, err = etcd.Start(t.Context(), etcd.Options{})
	require.NoError(t, err)
	r.server, err = apiserver.Start(t.Context(), apiserver.Options{Etcd: r.db.Client()})
	require.NoError(t, err)
	r.cluster, err = kube.Connect(&clientrest.Config{Host: r.server.URL()})
	require.NoError(t, err)
	t.Cleanup(func() {
		r.cluster.Close()
		require.NoError(t, r.server.Close())
		require.NoError(t, r.db.Close())
	})
	return r
}

func (r *rig) create(t *testing.T, name string) *corev1.ConfigMap {
	made, err := kube.For[*corev1.ConfigMap](r.cluster).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}})
	require.NoError(t, err)
	return made
}

// follow runs the factory until what it returns is called.
func (r *rig) follow(t *testing.T) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { require.NoError(t, r.factory.Run(ctx)) })
	return sync.OnceFunc(func() {
		cancel()
		running.Wait()
	})
}

func TestCompare(t *testing.T) {
	r := start(t)
	kept := r.create(t, "kept")
	gone := r.create(t, "gone")
	maps, err := kube.Follow[*corev1.ConfigMap](r.cluster, r.factory, kube.Select{Namespace: "default"})
	require.NoError(t, err)
	_, err = kube.Follow[*corev1.ConfigMap](r.cluster, r.factory, kube.Select{Fields: "metadata.name=kept"})
	require.NoError(t, err)
	_, err = kube.Follow[*corev1.Namespace](r.cluster, r.factory, kube.Select{})
	require.NoError(t, err)
	_, err = kube.FollowMetadata(r.cluster, r.factory, schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"})
	require.NoError(t, err)
	stop := r.follow(t)
	defer stop()
	require.NoError(t, maps.WaitForSync(t.Context()))
	report, err := caches.Compare(t.Context(), r.db.Client(), map[string]*informer.Factory{"test": r.factory}, time.Minute)
	require.NoError(t, err)
	require.Equal(t, caches.Report{Caches: 4, Objects: 4}, report)

	stop() // from now on the caches are behind
	require.NoError(t, kube.For[*corev1.ConfigMap](r.cluster).Delete(t.Context(), listwatch.KeyOf(gone), metav1.DeleteOptions{}))
	kept.Data = map[string]string{"a": "b"}
	changed, err := kube.For[*corev1.ConfigMap](r.cluster).Update(t.Context(), kept)
	require.NoError(t, err)
	r.create(t, "new")
	_, err = caches.Compare(t.Context(), r.db.Client(), map[string]*informer.Factory{"test": r.factory}, time.Millisecond)
	require.EqualError(t, err, "test: configmaps default: has version "+kept.ResourceVersion+" of default/kept in place of "+
		changed.ResourceVersion+"; lacks default/new; has default/gone, which is no more\n"+
		"test: configmaps metadata.name=kept: has version "+kept.ResourceVersion+" of default/kept in place of "+changed.ResourceVersion)
}

func TestBehind(t *testing.T) {
	r := start(t)
	r.create(t, "one")
	_, err := kube.Follow[*corev1.ConfigMap](r.cluster, r.factory, kube.Select{})
	require.NoError(t, err)
	var comparing sync.WaitGroup
	comparing.Go(func() {
		report, err := caches.Compare(t.Context(), r.db.Client(), map[string]*informer.Factory{"test": r.factory}, time.Minute)
		require.NoError(t, err)
		require.Equal(t, caches.Report{Caches: 1, Objects: 1}, report)
	})
	defer r.follow(t)()
	comparing.Wait()

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = caches.Compare(ctx, r.db.Client(), map[string]*informer.Factory{"test": r.factory}, time.Minute)
	require.ErrorIs(t, err, context.Canceled)
}

func TestUnknownSelection(t *testing.T) {
	r := start(t)
	r.create(t, "one")
	_, err := kube.Follow[*corev1.ConfigMap](r.cluster, r.factory, kube.Select{Labels: "a=b"})
	require.NoError(t, err)
	_, err = caches.Compare(t.Context(), r.db.Client(), map[string]*informer.Factory{"test": r.factory}, time.Minute)
	require.ErrorContains(t, err, `test: configmaps a=b: "a" isn't known to the comparison`)
}
