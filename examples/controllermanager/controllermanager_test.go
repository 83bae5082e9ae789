package controllermanager_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientrest "k8s.io/client-go/rest"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/apiserver"
	"github.com/seed3bce33ad/listwatch/examples/controllermanager"
	"github.com/seed3bce33ad/listwatch/examples/controllers/control"
	"github.com/seed3bce33ad/listwatch/examples/kube"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is an API server with controller managers.
type world struct {
	t       *testing.T
	server  *apiserver.Server
	cluster *kube.Cluster
	running sync.WaitGroup
}

func start(t *testing.T) *world {
	server, err := apiserver.Start(t.Context(), apiserver.Options{Namespaces: []string{"default", "kube-system"}})
	require.NoError(t, err)
	w := &world{t: t, server: server}
	w.cluster, err = kube.Connect(&clientrest.Config{Host: server.URL()})
	require.NoError(t, err)
	t.Cleanup(func() {
		w.running.Wait()
		w.cluster.Close()
		require.NoError(t, server.Close())
	})
	return w
}

// run runs a manager until what it returns is called.
func (w *world) run(name string) (stop func()) {
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan struct{})
	w.running.Go(func() {
		defer close(done)
		cluster, err := kube.Connect(&clientrest.Config{Host: w.server.URL()})
		require.NoError(w.t, err)
		defer cluster.Close()
		require.NoError(w.t, controllermanager.Run(ctx, controllermanager.Options{Cluster: cluster, Identity: name, Logger: slog.New(slog.DiscardHandler)}))
	})
	w.t.Cleanup(cancel)
	return func() { cancel(); <-done }
}

// deploy makes a deployment.
func (w *world) deploy(name string, replicas int32) {
	labels := map[string]string{"app": name}
	_, err := kube.For[*appsv1.Deployment](w.cluster).Create(w.t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: appsv1.DeploymentSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}},
	})
	require.NoError(w.t, err)
}

// pods counts those that are not on their way out.
func (w *world) pods() int {
	list, err := w.cluster.Metadata(corev1.SchemeGroupVersion.WithResource("pods")).List(w.t.Context(), "default")
	require.NoError(w.t, err)
	n := 0
	for _, p := range list.Items {
		if p.DeletionTimestamp == nil {
			n++
		}
	}
	return n
}

func (w *world) eventually(is func() bool) {
	w.t.Helper()
	require.Eventually(w.t, is, time.Minute, 5*time.Millisecond)
}

func TestTogether(t *testing.T) {
	w := start(t)
	w.run("a")
	w.deploy("web", 3)
	w.eventually(func() bool { return w.pods() == 3 })
	w.eventually(func() bool {
		_, err := kube.For[*corev1.ServiceAccount](w.cluster).Get(t.Context(), listwatch.Key{Namespace: "default", Name: "default"})
		return err == nil
	})
	require.NoError(t, kube.For[*appsv1.Deployment](w.cluster).Delete(t.Context(), listwatch.Key{Namespace: "default", Name: "web"}, metav1.DeleteOptions{}))
	w.eventually(func() bool {
		list, err := w.cluster.Metadata(appsv1.SchemeGroupVersion.WithResource("replicasets")).List(t.Context(), "default")
		require.NoError(t, err)
		return len(list.Items)+w.pods() == 0
	})
}

func TestHandedOver(t *testing.T) {
	seed := rand.Uint64()
	t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	w := start(t)
	stop := w.run("0")
	for i := range 4 {
		w.deploy(fmt.Sprint("d", i), 20)
		next := w.run(fmt.Sprint(i + 1))
		<-time.After(time.Duration(random.IntN(60)) * time.Millisecond)
		stop()
		stop = next
	}
	w.eventually(func() bool { return w.pods() >= 80 })
	for i := range 4 {
		w.eventually(func() bool {
			d, err := kube.For[*appsv1.Deployment](w.cluster).Get(t.Context(), listwatch.Key{Namespace: "default", Name: fmt.Sprint("d", i)})
			require.NoError(t, err)
			return d.Status.Replicas == 20 && d.Status.ObservedGeneration == d.Generation
		})
	}
	w.eventually(func() bool { return w.pods() == 80 })
}

func TestFails(t *testing.T) {
	w := start(t)
	bad := errors.New("it went wrong")
	make := func(err error) control.Make {
		return func(control.Env) (control.Controller, error) {
			return control.Controller{Name: "bad", Run: func(context.Context) error { return err }}, nil
		}
	}
	o := controllermanager.Options{Cluster: w.cluster, Alone: true, Logger: slog.New(slog.DiscardHandler)}
	o.Controllers = append(controllermanager.Controllers(o.Nodes), make(bad))
	require.ErrorIs(t, controllermanager.Run(t.Context(), o), bad)
	o.Controllers = []control.Make{make(nil)}
	require.ErrorContains(t, controllermanager.Run(t.Context(), o), "bad has ended")
	o.Controllers = []control.Make{func(control.Env) (control.Controller, error) { return control.Controller{}, bad }}
	require.ErrorIs(t, controllermanager.Run(t.Context(), o), bad)
	require.Error(t, controllermanager.Run(t.Context(), controllermanager.Options{Cluster: w.cluster}))
}
