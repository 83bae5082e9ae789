package apiserver

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	urlpath "path"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/registry"
	"github.com/seed3bce33ad/listwatch/examples/kubelet/logs"
)

// kubeletPort is that of kubelets whose nodes don't say.
const kubeletPort = 10250

// addressTypes are the addresses of a node that its kubelet is reached by, the best first.
var addressTypes = []corev1.NodeAddressType{corev1.NodeInternalIP, corev1.NodeExternalIP, corev1.NodeHostName}

// call is a request to a kubelet.
type call struct {
	// resource, name and subresource are what the client asked for.
	resource          schema.GroupResource
	name, subresource string
	// node is that of the kubelet; "" when there is none yet.
	node string
	url  url.URL
}

// callOf returns what a kubelet is to be asked for, but for where it is, or why it need not be.
func (s *Server) callOf(r *http.Request, t registry.Target, rest string) (call, error) {
	c := call{resource: t.Kind.GroupResource(), name: t.Name, subresource: t.Subresource}
	q := r.URL.Query()
	if t.Subresource == "proxy" {
		c.node = t.Name
		c.url.Path, c.url.RawQuery = urlpath.Clean(rest), r.URL.RawQuery
		if strings.HasSuffix(rest, "/") && c.url.Path != "/" {
			c.url.Path += "/"
		}
		return c, nil
	}
	o, problems := logs.Parse(q)
	if t.Subresource == "log" && len(problems) > 0 {
		return c, apierrors.NewInvalid(schema.GroupKind{Kind: "PodLogOptions"}, t.Name, problems)
	}
	t.Subresource = ""
	object, err := s.registry.Get(r.Context(), t, "")
	if err != nil {
		return c, err
	}
	pod := object.(*corev1.Pod)
	c.node = pod.Spec.NodeName
	if c.node == "" && c.subresource != "log" {
		return c, badRequest("pod %s does not have a host assigned", pod.Name)
	}
	if c.subresource == "portforward" {
		c.url.Path, c.url.RawQuery = "/portForward/"+pod.Namespace+"/"+pod.Name, url.Values{"port": q["ports"]}.Encode()
		return c, nil
	}
	container, err := containerOf(pod, q.Get("container"))
	if err != nil {
		return c, err
	}
	at := pod.Namespace + "/" + pod.Name + "/" + container
	if c.subresource == "log" {
		c.url.Path, c.url.RawQuery = "/containerLogs/"+at, logs.Query(o).Encode()
		return c, nil
	}
	c.url.Path, c.url.RawQuery = "/"+c.subresource+"/"+at, streamQuery(q).Encode()
	return c, nil
}

// streamQuery returns what a kubelet is told of the streams of a command.
func streamQuery(q url.Values) url.Values {
	to := url.Values{"command": q["command"]}
	for name, kubelets := range map[string]string{"stdin": "input", "stdout": "output", "stderr": "error", "tty": "tty"} {
		if isTrue(q, name) {
			to.Set(kubelets, "1")
		}
	}
	return to
}

// containerOf returns the name of the container that is meant, or why it isn't clear.
func containerOf(p *corev1.Pod, name string) (string, error) {
	var names, inits []string
	for _, c := range p.Spec.Containers {
		names = append(names, c.Name)
	}
	for _, c := range p.Spec.InitContainers {
		inits = append(inits, c.Name)
	}
	switch {
	case name == "" && len(names) == 1:
		return names[0], nil
	case name == "":
		text := fmt.Sprintf("a container name must be specified for pod %s, choose one of: %v", p.Name, names)
		if len(inits) > 0 {
			text += fmt.Sprintf(" or one of the init containers: %v", inits)
		}
		return "", badRequest("%s", text)
	case !slices.Contains(names, name) && !slices.Contains(inits, name):
		return "", badRequest("container %s is not valid for pod %s", name, p.Name)
	}
	return name, nil
}

// locate finds out where the kubelet is.
func (s *Server) locate(ctx context.Context, c *call) error {
	object, err := s.registry.Get(ctx, registry.Target{Kind: kinds.Nodes(), Name: c.node}, "")
	if err != nil {
		return err
	}
	node := object.(*corev1.Node)
	port := int(node.Status.DaemonEndpoints.KubeletEndpoint.Port)
	if port == 0 {
		port = kubeletPort
	}
	for _, kind := range addressTypes {
		i := slices.IndexFunc(node.Status.Addresses, func(a corev1.NodeAddress) bool { return a.Type == kind })
		if i < 0 {
			continue
		}
		c.url.Scheme, c.url.Host = "https", net.JoinHostPort(node.Status.Addresses[i].Address, strconv.Itoa(port))
		if s.access.certs == nil {
			c.url.Scheme = "http"
			if err := checkPlain(c.url.Host); err != nil {
				return failure(http.StatusInternalServerError, metav1.StatusReasonUnknown, err.Error())
			}
		}
		return nil
	}
	return failure(http.StatusInternalServerError, metav1.StatusReasonUnknown,
		fmt.Sprintf("no preferred addresses found; known addresses: %v", node.Status.Addresses))
}

func trimmed(text []byte) string { return strings.TrimSpace(string(text)) }
