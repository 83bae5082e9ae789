package namespace_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientrest "k8s.io/client-go/rest"
	"k8s.io/client-go/transport"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/controllers/control"
	"github.com/seed3bce33ad/listwatch/examples/controllers/controltest"
	"github.com/seed3bce33ad/listwatch/examples/controllers/namespace"
	"github.com/seed3bce33ad/listwatch/examples/kube"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a world with a view of its namespaces.
type rig struct {
	*controltest.World
	namespaces *controltest.View[*corev1.Namespace]
}

func start(t *testing.T, m control.Make) rig {
	w := controltest.New(t, m)
	return rig{w, controltest.Watch[*corev1.Namespace](w)}
}

// space makes a namespace.
func (r rig) space(name string) *corev1.Namespace {
	made, err := kube.For[*corev1.Namespace](r.Cluster).Create(r.T.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	require.NoError(r.T, err)
	return made
}

// end deletes a namespace.
func (r rig) end(name string) {
	require.NoError(r.T, kube.For[*corev1.Namespace](r.Cluster).Delete(r.T.Context(), listwatch.Key{Name: name}, metav1.DeleteOptions{}))
}

// settings makes a config map.
func (r rig) settings(namespace, name string, finalizers ...string) *corev1.ConfigMap {
	made, err := kube.For[*corev1.ConfigMap](r.Cluster).Create(r.T.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Finalizers: finalizers}})
	require.NoError(r.T, err)
	return made
}

// post sends JSON, and returns the code of the answer.
func (r rig) post(path, body string) int {
	client, base := r.Cluster.HTTP()
	response, err := client.Post(base.JoinPath(path).String(), "application/json", strings.NewReader(body))
	require.NoError(r.T, err)
	require.NoError(r.T, response.Body.Close())
	return response.StatusCode
}

// untilGone waits until there is no namespace of that name.
func (r rig) untilGone(name string) {
	r.namespaces.Until(func(all []*corev1.Namespace) bool {
		for _, n := range all {
			if n.Name == name {
				return false
			}
		}
		return true
	})
}

func TestDeletesContents(t *testing.T) {
	r := start(t, namespace.New)
	r.space("old")
	kept := r.settings("default", "kept")
	for i := range 5 {
		r.settings("old", fmt.Sprint("s", i))
	}
	require.Equal(t, http.StatusCreated, r.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", `{"metadata":{"name":"gadgets.example.com"},
		"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"gadgets","kind":"Gadget"},"versions":[{"name":"v1","served":true,
		"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`))
	gadgets := "/apis/example.com/v1/namespaces/old/gadgets"
	require.Eventually(t, func() bool {
		return r.post(gadgets, `{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"generateName":"g"}}`) == http.StatusCreated
	}, time.Minute, time.Millisecond)
	pod, err := kube.For[*corev1.Pod](r.Cluster).Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "old", Name: "p"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}})
	require.NoError(t, err)
	r.end("old")
	r.untilGone("old")
	_, err = kube.For[*corev1.Pod](r.Cluster).Get(t.Context(), listwatch.KeyOf(pod))
	require.Error(t, err)
	left, err := r.Cluster.Metadata(corev1.SchemeGroupVersion.WithResource("configmaps")).List(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, left.Items, 1)
	require.Equal(t, kept.UID, left.Items[0].UID)
	require.Equal(t, http.StatusNotFound, r.post(gadgets, `{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"generateName":"g"}}`))
}

func TestWaits(t *testing.T) {
	r := start(t, namespace.New)
	r.space("old")
	r.settings("old", "a", "example.com/one", "example.com/two")
	r.settings("old", "b", "example.com/one")
	r.end("old")
	condition := func(n *corev1.Namespace, kind corev1.NamespaceConditionType) corev1.NamespaceCondition {
		for _, c := range n.Status.Conditions {
			if c.Type == kind {
				return c
			}
		}
		return corev1.NamespaceCondition{}
	}
	told := func(message string) func([]*corev1.Namespace) bool {
		return func(all []*corev1.Namespace) bool {
			for _, n := range all {
				if condition(n, corev1.NamespaceFinalizersRemaining).Message == message {
					require.Equal(t, corev1.ConditionTrue, condition(n, corev1.NamespaceContentRemaining).Status)
					require.Equal(t, corev1.ConditionFalse, condition(n, corev1.NamespaceDeletionContentFailure).Status)
					return true
				}
			}
			return false
		}
	}
	r.namespaces.Until(told("Some content in the namespace has finalizers remaining: example.com/one in 2 resource instances, " +
		"example.com/two in 1 resource instances"))
	release := func(name string) {
		_, err := kube.For[*corev1.ConfigMap](r.Cluster).Patch(t.Context(), listwatch.Key{Namespace: "old", Name: name},
			kube.Patch{Body: map[string]any{"metadata": map[string]any{"finalizers": nil}}})
		require.NoError(t, err)
	}
	release("a")
	r.namespaces.After(time.Second, told("Some content in the namespace has finalizers remaining: example.com/one in 1 resource instances"))
	release("b")
	r.namespaces.After(time.Second, func(all []*corev1.Namespace) bool { return len(all) == 1 })
}

// cut is a way to the server on which requests for a path fail while it is said so.
type cut struct {
	path string
	now  atomic.Bool
}

// make is the controller behind it.
func (c *cut) make(t *testing.T) control.Make {
	return func(env control.Env) (control.Controller, error) {
		_, address := env.Cluster.HTTP()
		cluster, err := kube.Connect(&clientrest.Config{Host: address.String(), WrapTransport: transport.Wrappers(func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				if c.now.Load() && r.URL.Path == c.path {
					return nil, errors.New("the way is cut")
				}
				return next.RoundTrip(r)
			})
		})})
		if err != nil {
			return control.Controller{}, err
		}
		t.Cleanup(cluster.Close)
		env.Cluster = cluster
		return namespace.New(env)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestUnknownContents(t *testing.T) {
	c := &cut{path: "/apis/apps/v1"}
	c.now.Store(true)
	r := start(t, c.make(t))
	r.space("old")
	r.end("old")
	r.namespaces.Until(func(all []*corev1.Namespace) bool {
		for _, n := range all {
			for _, c := range n.Status.Conditions {
				if c.Type == corev1.NamespaceDeletionDiscoveryFailure && c.Status == corev1.ConditionTrue {
					require.Contains(t, c.Message, "apps/v1")
					return true
				}
			}
		}
		return false
	})
	c.now.Store(false)
	r.Flow()
	r.untilGone("old")
}

func TestSameName(t *testing.T) {
	r := start(t, namespace.New)
	r.Flow()
	for i := range 10 {
		made := r.space("again")
		kept := r.settings("again", fmt.Sprint("s", i))
		now, err := kube.For[*corev1.ConfigMap](r.Cluster).Get(t.Context(), listwatch.KeyOf(kept))
		require.NoError(t, err)
		require.Equal(t, kept.UID, now.UID)
		r.namespaces.Until(func(all []*corev1.Namespace) bool {
			for _, n := range all {
				if n.UID == made.UID {
					return true
				}
			}
			return false
		})
		now, err = kube.For[*corev1.ConfigMap](r.Cluster).Get(t.Context(), listwatch.KeyOf(kept))
		require.NoError(t, err, "what the informers had told late did not touch it")
		require.Equal(t, kept.UID, now.UID)
		r.end("again")
		require.Eventually(t, func() bool {
			_, err := kube.For[*corev1.Namespace](r.Cluster).Get(t.Context(), listwatch.Key{Name: "again"})
			return err != nil
		}, time.Minute, time.Millisecond)
	}
}
