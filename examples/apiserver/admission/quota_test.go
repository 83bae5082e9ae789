package admission_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/admission"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/registry"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/usage"
)

// pod is a pod of one container with such resources.
func pod(name, resources string) string {
	return fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"containers":[{"name":"c","image":"i","resources":{%s}}]}}`, name, resources)
}

func quota(name, hard string) string {
	return fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"hard":{%s}}}`, name, hard)
}

// used returns the usage that a quota tells, as "name=number" in order.
func (c cluster) used(name string) string {
	c.Helper()
	o, err := c.Get(c.Context(), at(kinds.ResourceQuotas(), name), "")
	require.NoError(c, err)
	return list(o.(*corev1.ResourceQuota).Status.Used)
}

func list(from corev1.ResourceList) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(from)) {
		q := from[name]
		parts = append(parts, string(name)+"="+q.String())
	}
	return strings.Join(parts, " ")
}

func TestParallelCreations(t *testing.T) {
	const tries, limit = 50, 10
	c := newCluster(t, admission.Rules{})
	c.make(kinds.ResourceQuotas(), quota("few", `"pods":"10","count/pods":"100"`))
	var made, refusals atomic.Int32
	var running sync.WaitGroup
	for i := range tries {
		running.Go(func() {
			_, err := c.create(t.Context(), kinds.Pods(), pod(fmt.Sprintf("p%d", i), ""))
			switch {
			case err == nil:
				made.Add(1)
			case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota: few, requested: pods=1, used: pods=10, limited: pods=10"):
				refusals.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	running.Wait()
	require.Equal(t, int32(limit), made.Load())
	require.Equal(t, int32(tries-limit), refusals.Load())
	stored, err := c.Stored(t.Context(), registry.Target{Kind: kinds.Pods(), Namespace: "default"})
	require.NoError(t, err)
	require.Len(t, stored, limit)
	require.Equal(t, "count/pods=10 pods=10", c.used("few"))
}

func TestQuotas(t *testing.T) {
	for name, test := range map[string]struct {
		hard, before string // before is a pod that is there before the quota is
		kind         *kinds.Kind
		object       string
		message      string
		used         string
	}{
		"a count that fits": {hard: `"pods":"1"`, kind: kinds.Pods(), object: pod("p", ""), used: "pods=1"},
		"what is there is counted": {hard: `"pods":"1"`, before: pod("b", ""), kind: kinds.Pods(), object: pod("p", ""),
			message: `pods "p" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1`},
		"what it does not bound": {hard: `"pods":"0"`, kind: kinds.ConfigMaps(), object: `{"metadata":{"name":"c"}}`},
		"objects by their old name": {hard: `"configmaps":"0"`, kind: kinds.ConfigMaps(), object: `{"metadata":{"name":"c"}}`,
			message: `configmaps "c" is forbidden: exceeded quota: q, requested: configmaps=1, used: configmaps=0, limited: configmaps=0`},
		"objects of a group": {hard: `"count/deployments.apps":"0"`, kind: kinds.Deployments(), object: deployment,
			message: `deployments.apps "d" is forbidden: exceeded quota: q, requested: count/deployments.apps=1, ` +
				`used: count/deployments.apps=0, limited: count/deployments.apps=0`},
		"what containers ask for": {hard: `"requests.cpu":"1","limits.memory":"1Gi"`, kind: kinds.Pods(),
			object: pod("p", `"requests":{"cpu":"600m"},"limits":{"memory":"512Mi"}`), used: "limits.memory=512Mi requests.cpu=600m"},
		"more than is left": {hard: `"cpu":"1","memory":"1Gi"`, before: pod("b", `"requests":{"cpu":"600m","memory":"1Mi"}`), kind: kinds.Pods(),
			object:  pod("p", `"requests":{"cpu":"500m","memory":"2Gi"}`),
			message: `pods "p" is forbidden: exceeded quota: q, requested: cpu=500m,memory=2Gi, used: cpu=600m,memory=1Mi, limited: cpu=1,memory=1Gi`},
		"what containers do not say": {hard: `"limits.cpu":"1","memory":"1Gi"`, kind: kinds.Pods(), object: pod("p", `"requests":{"cpu":"1"}`),
			message: `pods "p" is forbidden: failed quota: q: must specify limits.cpu for: c; memory for: c`},
		"what a service takes outside": {hard: `"services.nodeports":"1","services.loadbalancers":"0","services":"5"`, kind: kinds.Services(),
			object: `{"metadata":{"name":"s"},"spec":{"type":"LoadBalancer","ports":[{"name":"a","port":1},{"name":"b","port":2}]}}`,
			message: `services "s" is forbidden: exceeded quota: q, requested: services.loadbalancers=1,services.nodeports=2, ` +
				`used: services.loadbalancers=0,services.nodeports=0, limited: services.loadbalancers=0,services.nodeports=1`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, admission.Rules{})
			if test.before != "" {
				c.make(kinds.Pods(), test.before)
			}
			c.make(kinds.ResourceQuotas(), quota("q", test.hard))
			_, err := c.create(t.Context(), test.kind, test.object)
			refused(t, test.message, err)
			if test.message == "" {
				require.Equal(t, test.used, c.used("q"))
			}
		})
	}
}

const deployment = `{"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},
	"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`

func TestRefusedWritesUseNothing(t *testing.T) {
	c := newCluster(t, admission.Rules{})
	c.make(kinds.ResourceQuotas(), quota("a", `"pods":"10"`))
	c.make(kinds.ResourceQuotas(), quota("b", `"pods":"2","count/pods":"2"`))
	c.make(kinds.Pods(), pod("p", ""))
	for name, text := range map[string]string{
		"it is there already": pod("p", ""),
		"it is not right":     pod("Not_A_Name", ""),
	} {
		_, err := c.create(t.Context(), kinds.Pods(), text)
		require.Error(t, err, name)
		require.Equal(t, "pods=1", c.used("a"), name)
		require.Equal(t, "count/pods=1 pods=1", c.used("b"), name)
	}
	_, err := c.Create(t.Context(), at(kinds.Pods(), ""), read(t, kinds.Pods(), pod("dry", "")), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	require.NoError(t, err)
	require.Equal(t, "pods=1", c.used("a"), "it was dry")
	c.make(kinds.Pods(), pod("second", ""))
	_, err = c.create(t.Context(), kinds.Pods(), pod("third", ""))
	require.ErrorContains(t, err, "exceeded quota: b")
	require.Equal(t, "pods=2", c.used("a"), "the other quota had been charged before")
	_, err = c.Create(t.Context(), at(kinds.Pods(), ""), read(t, kinds.Pods(), pod("dry", "")), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	require.ErrorContains(t, err, "exceeded quota: b")
}

// An update is charged for what it adds, once, however often it is tried.
func TestUpdatesAreCharged(t *testing.T) {
	c := newCluster(t, admission.Rules{})
	c.make(kinds.ResourceQuotas(), quota("q", `"services":"1","services.nodeports":"3"`))
	service := func(ports int) string {
		text := `{"metadata":{"name":"s"},"spec":{"type":"NodePort","ports":[`
		for i := range ports {
			text += fmt.Sprintf(`%s{"name":"p%d","port":%d,"nodePort":%d}`, strings.Repeat(",", min(i, 1)), i, i+1, 30000+i)
		}
		return text + "]}}"
	}
	update := func(ports int) error {
		_, err := c.Update(t.Context(), at(kinds.Services(), "s"), read(t, kinds.Services(), service(ports)), metav1.UpdateOptions{})
		return err
	}
	c.make(kinds.Services(), service(1))
	require.Equal(t, "services=1 services.nodeports=1", c.used("q"))
	require.NoError(t, update(3))
	require.Equal(t, "services=1 services.nodeports=3", c.used("q"))
	require.ErrorContains(t, update(4), "exceeded quota: q, requested: services.nodeports=1, used: services.nodeports=3, limited: services.nodeports=3")
	require.NoError(t, update(1), "less is never refused")
	require.Equal(t, "services=1 services.nodeports=3", c.used("q"), "who counts anew gives it back")

	// Another write comes between: what the first try has reserved is taken back.
	_, _, err := c.Delete(t.Context(), at(kinds.ResourceQuotas(), "q"), metav1.DeleteOptions{})
	require.NoError(t, err)
	c.make(kinds.ResourceQuotas(), quota("more", `"services.nodeports":"99"`))
	var running sync.WaitGroup
	for range 10 {
		running.Go(func() {
			if err := update(2); err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	require.Equal(t, "services.nodeports=2", c.used("more"))
}

func TestUsage(t *testing.T) {
	for name, test := range map[string]struct {
		kind   *kinds.Kind
		object string
		want   string
	}{
		"a pod": {kinds.Pods(), pod("p", `"requests":{"cpu":"1","example.com/gpu":"2"},"limits":{"memory":"1Gi","example.com/gpu":"2"}`),
			"count/pods=1 cpu=1 limits.memory=1Gi pods=1 requests.cpu=1 requests.example.com/gpu=2"},
		"a pod that has ended": {kinds.Pods(), `{"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}]},"status":{"phase":"Failed"}}`, "count/pods=1"},
		"containers before the others": {kinds.Pods(), `{"spec":{"initContainers":[{"name":"i","resources":{"requests":{"cpu":"3"}}}],
			"containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}},{"name":"d","resources":{"requests":{"cpu":"1"}}}]}}`,
			"count/pods=1 cpu=3 pods=1 requests.cpu=3"},
		"a service":                     {kinds.Services(), `{"spec":{"type":"ClusterIP","ports":[{"port":1}]}}`, "count/services=1 services=1"},
		"a service with ports of nodes": {kinds.Services(), `{"spec":{"type":"NodePort","ports":[{"port":1},{"port":2}]}}`, "count/services=1 services=1 services.nodeports=2"},
		"a balancer without such ports": {kinds.Services(), `{"spec":{"type":"LoadBalancer","allocateLoadBalancerNodePorts":false,"ports":[{"port":1}]}}`, "count/services=1 services=1 services.loadbalancers=1"},
		"a secret":                      {kinds.Secrets(), `{}`, "count/secrets=1 secrets=1"},
		"what has no name of its own":   {kinds.Leases(), `{}`, "count/leases.coordination.k8s.io=1"},
		"a quota":                       {kinds.ResourceQuotas(), `{}`, "count/resourcequotas=1 resourcequotas=1"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, test.want, list(usage.Of(test.kind.GroupResource(), read(t, test.kind, test.object))))
		})
	}
}

func TestScopes(t *testing.T) {
	plain, cpu := pod("p", ""), pod("p", `"requests":{"cpu":"1"}`)
	ending := strings.Replace(plain, `"spec":{`, `"spec":{"activeDeadlineSeconds":5,`, 1)
	high := strings.Replace(plain, `"spec":{`, `"spec":{"priorityClassName":"high",`, 1)
	class := func(operator, values string) string {
		return `"scopeSelector":{"matchExpressions":[{"scopeName":"PriorityClass","operator":"` + operator + `"` + values + `}]}`
	}
	for name, test := range map[string]struct {
		scope   string
		in, out string
	}{
		"ending":           {`"scopes":["Terminating"]`, ending, plain},
		"not ending":       {`"scopes":["NotTerminating"]`, plain, ending},
		"as it comes":      {`"scopes":["BestEffort"]`, plain, cpu},
		"not as it comes":  {`"scopes":["NotBestEffort"]`, cpu, plain},
		"two of them":      {`"scopes":["BestEffort","Terminating"]`, ending, plain},
		"with a class":     {class("Exists", ""), high, plain},
		"without a class":  {class("DoesNotExist", ""), plain, high},
		"of a class":       {class("In", `,"values":["high"]`), high, plain},
		"of another class": {class("NotIn", `,"values":["high"]`), plain, high},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, admission.Rules{})
			c.make(kinds.ResourceQuotas(), `{"metadata":{"name":"q"},"spec":{"hard":{"pods":"0"},`+test.scope+`}}`)
			_, err := c.create(t.Context(), kinds.Pods(), test.in)
			require.ErrorContains(t, err, "exceeded quota: q")
			_, err = c.create(t.Context(), kinds.Pods(), test.out)
			require.NoError(t, err)
		})
	}
}
