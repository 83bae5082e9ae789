package kube

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	clientrest "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/seed3bce33ad/listwatch"
)

// Object is what a component reads and writes: a pointer to a type of k8s.io/api, such as *corev1.Pod.
type Object interface {
	listwatch.Object
	metav1.Object
	runtime.Object
}

// Cluster is a connection to an API server. Make one with [Connect] or [Load].
type Cluster struct {
	config *clientrest.Config
	client *http.Client
	base   *url.URL
	scheme *runtime.Scheme
	codecs serializer.CodecFactory
	mu     sync.Mutex
	// byVersion are the clients of group versions that were asked for. Guarded by mu.
	byVersion map[schema.GroupVersion]*clientrest.RESTClient
}

// Connect makes a connection as config says; none is opened before the first request. Requests are not held back
// on this side: neither QPS nor Burst is looked at. It returns an error when config is at odds with itself.
func Connect(config *clientrest.Config) (*Cluster, error) {
	config = clientrest.CopyConfig(config)
	config.QPS = -1
	client, err := clientrest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("kube: %w", err)
	}
	base, _, err := clientrest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("kube: %w", err)
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), appsv1.AddToScheme(scheme), batchv1.AddToScheme(scheme),
		coordinationv1.AddToScheme(scheme), discoveryv1.AddToScheme(scheme), autoscalingv1.AddToScheme(scheme),
		autoscalingv2.AddToScheme(scheme), rbacv1.AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("kube: %w", err)
	}
	return &Cluster{
		config: config, client: client, base: base, scheme: scheme, codecs: serializer.NewCodecFactory(scheme),
		byVersion: map[schema.GroupVersion]*clientrest.RESTClient{},
	}, nil
}

// Load is [Connect] with what the file kubeconfig says in its current context.
func Load(kubeconfig string) (*Cluster, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("kube: %w", err)
	}
	return Connect(config)
}

// Close closes the connections that nobody uses.
func (c *Cluster) Close() { c.client.CloseIdleConnections() }

// HTTP returns the client that requests go through, with the credentials of the connection, and the address of the API
// server.
func (c *Cluster) HTTP() (*http.Client, *url.URL) { return c.client, c.base }

// resource says where the objects of a type are.
type resource struct {
	schema.GroupVersionKind
	plural string
}

// resourceOf finds the resource of a type of object. It panics when the API groups that the package knows lack the type.
func (c *Cluster) resourceOf(o runtime.Object) resource {
	kinds, _, err := c.scheme.ObjectKinds(o)
	if err != nil {
		panic("kube: " + err.Error())
	}
	plural, _ := meta.UnsafeGuessKindToResource(kinds[0])
	return resource{kinds[0], plural.Resource}
}

// path is where the collection is, below the server's address.
func (r resource) path() string {
	if r.Group == "" {
		return "api/" + r.Version + "/" + r.plural
	}
	return "apis/" + r.Group + "/" + r.Version + "/" + r.plural
}

// rest returns the client of a group version.
func (c *Cluster) rest(v schema.GroupVersion) *clientrest.RESTClient {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r, ok := c.byVersion[v]; ok {
		return r
	}
	config := clientrest.CopyConfig(c.config)
	config.GroupVersion, config.NegotiatedSerializer, config.APIPath = &v, c.codecs.WithoutConversion(), "/apis"
	if v.Group == "" {
		config.APIPath = "/api"
	}
	r, err := clientrest.RESTClientForConfigAndClient(config, c.client)
	if err != nil {
		panic("kube: " + err.Error()) // Connect has seen the same configuration
	}
	c.byVersion[v] = r
	return r
}

// CA returns the certificates that the connection believes, as PEM; nil when they are the system's, or none are asked for.
func (c *Cluster) CA() []byte {
	if len(c.config.CAData) > 0 {
		return c.config.CAData
	}
	data, _ := os.ReadFile(c.config.CAFile) // Connect has read it
	return data
}
