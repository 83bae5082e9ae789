package kubelet

import (
	"bufio"
	"context"
	"os"
	"strconv"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/kube"
)

// objects reads what containers are given from the API, each time as it is now. It is an inputs.Source.
type objects struct {
	configMaps kube.Client[*corev1.ConfigMap]
	secrets    kube.Client[*corev1.Secret]
	accounts   kube.Client[*corev1.ServiceAccount]
}

func newObjects(c *kube.Cluster) objects {
	return objects{kube.For[*corev1.ConfigMap](c), kube.For[*corev1.Secret](c), kube.For[*corev1.ServiceAccount](c)}
}

// ConfigMap reads one of the pod's namespace.
func (o objects) ConfigMap(ctx context.Context, p *corev1.Pod, name string) (*corev1.ConfigMap, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return o.configMaps.Get(ctx, listwatch.Key{Namespace: p.Namespace, Name: name})
}

// Secret reads one of the pod's namespace.
func (o objects) Secret(ctx context.Context, p *corev1.Pod, name string) (*corev1.Secret, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return o.secrets.Get(ctx, listwatch.Key{Namespace: p.Namespace, Name: name})
}

// Token asks for a token of the pod's account that ends with the pod.
func (o objects) Token(ctx context.Context, p *corev1.Pod, of *corev1.ServiceAccountTokenProjection) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: ptr.To(ptr.Deref(of.ExpirationSeconds, 3600)),
		BoundObjectRef:    &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: p.Name, UID: p.UID},
	}}
	if of.Audience != "" {
		request.Spec.Audiences = []string{of.Audience}
	}
	answer := &authenticationv1.TokenRequest{}
	account := listwatch.Key{Namespace: p.Namespace, Name: or(p.Spec.ServiceAccountName, "default")}
	err := o.accounts.Post(ctx, account, "token", request, answer)
	return answer.Status.Token, err
}

// kernel is the version of the machine's kernel, or "" where it does not say so.
func kernel() string {
	text, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return strings.TrimSpace(string(text))
}

// memory is what the machine has, or 1 GiB where it does not say so.
func memory() resource.Quantity {
	q := resource.MustParse("1Gi")
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return q
	}
	defer func() { _ = f.Close() }() // it was only read
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); len(fields) == 3 && fields[0] == "MemTotal:" {
			if kib, err := strconv.ParseInt(fields[1], 10, 64); err == nil {
				return *resource.NewQuantity(kib*1024, resource.BinarySI)
			}
		}
	}
	return q
}
