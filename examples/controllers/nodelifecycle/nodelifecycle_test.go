package nodelifecycle_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/controllers/control"
	"github.com/seed3bce33ad/listwatch/examples/controllers/controltest"
	"github.com/seed3bce33ad/listwatch/examples/controllers/nodelifecycle"
	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/informer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a world with the node n, whose kubelet the test plays.
type rig struct {
	*controltest.World
	t     *testing.T
	nodes *controltest.View[*corev1.Node]
	pods  *controltest.View[*corev1.Pod]
	// leases is the controller's own cache.
	leases *informer.Informer[*coordinationv1.Lease]
}

const (
	grace     = 40 * time.Second
	tolerated = 5 * time.Minute
)

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t}
	r.World = controltest.New(t, func(env control.Env) (made control.Controller, err error) {
		r.leases, err = kube.Follow[*coordinationv1.Lease](env.Cluster, env.Factory, kube.Select{Namespace: corev1.NamespaceNodeLease})
		require.NoError(t, err)
		return nodelifecycle.Options{Grace: grace, Tolerated: tolerated}.New(env)
	})
	_, err := kube.For[*corev1.Namespace](r.Cluster).Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: corev1.NamespaceNodeLease}})
	require.NoError(t, err)
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	n.Spec.Taints = []corev1.Taint{{Key: "others", Effect: corev1.TaintEffectNoSchedule}}
	_, err = kube.For[*corev1.Node](r.Cluster).Create(t.Context(), n)
	require.NoError(t, err)
	r.nodes, r.pods = controltest.Watch[*corev1.Node](r.World), controltest.Watch[*corev1.Pod](r.World)
	r.lease()
	r.report(corev1.ConditionTrue)
	return r
}

var leaseKey = listwatch.Key{Namespace: corev1.NamespaceNodeLease, Name: "n"}

// lease makes the lease of the node.
func (r *rig) lease() {
	r.t.Helper()
	l := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: leaseKey.Namespace, Name: leaseKey.Name}}
	_, err := kube.For[*coordinationv1.Lease](r.Cluster).Create(r.t.Context(), l)
	require.NoError(r.t, err)
}

// renew renews it, and waits until the controller knows. By the kubelet's clock it is long ago.
func (r *rig) renew(second int) {
	r.t.Helper()
	at := time.Date(2001, 1, 1, 0, 0, second, 0, time.UTC).Format("2006-01-02T15:04:05.000000Z")
	l, err := kube.For[*coordinationv1.Lease](r.Cluster).Patch(r.t.Context(), leaseKey, kube.Patch{Body: map[string]any{"spec": map[string]any{"renewTime": at}}})
	require.NoError(r.t, err)
	<-r.leases.Reached(l.ResourceVersion).Done()
}

// report writes how the node is, as a kubelet does.
func (r *rig) report(ready corev1.ConditionStatus) {
	r.t.Helper()
	_, err := kube.For[*corev1.Node](r.Cluster).Patch(r.t.Context(), listwatch.Key{Name: "n"}, kube.Patch{Subresource: "status", Body: map[string]any{
		"status": map[string]any{"conditions": []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready, LastHeartbeatTime: metav1.NewTime(r.Clock.Now())}}},
	}})
	require.NoError(r.t, err)
}

// pod makes a pod on the node that says that it is ready.
func (r *rig) pod(name string, tolerations ...corev1.Toleration) *corev1.Pod {
	r.t.Helper()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}}
	p.Spec.NodeName, p.Spec.Containers, p.Spec.Tolerations = "n", []corev1.Container{{Name: "c", Image: "i"}}, tolerations
	made := controltest.Create(r.World, p)
	controltest.SetReady(r.World, made, corev1.ConditionTrue)
	_, err := kube.For[*corev1.Pod](r.Cluster).UpdateStatus(r.t.Context(), made)
	require.NoError(r.t, err)
	return r.pods.One(name, func(p *corev1.Pod) bool { return ready(p) == corev1.ConditionTrue })
}

func ready(p *corev1.Pod) corev1.ConditionStatus {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status
		}
	}
	return ""
}

// state is the state of a node and the taints that it has.
func state(n *corev1.Node) []string {
	var all []string
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			all = append(all, string(c.Status))
		}
	}
	for _, t := range n.Spec.Taints {
		all = append(all, t.Key+":"+string(t.Effect))
	}
	slices.Sort(all)
	return all
}

func is(want ...string) func([]*corev1.Node) bool {
	return func(all []*corev1.Node) bool { return len(all) == 1 && slices.Equal(state(all[0]), want) }
}

var (
	healthy     = is("True", "others:NoSchedule")
	unreachable = is("Unknown", "node.kubernetes.io/unreachable:NoExecute", "node.kubernetes.io/unreachable:NoSchedule", "others:NoSchedule")
)

func TestReady(t *testing.T) {
	r := newRig(t)
	r.nodes.Until(healthy)
	r.report(corev1.ConditionFalse)
	r.nodes.Until(is("False", "node.kubernetes.io/not-ready:NoExecute", "node.kubernetes.io/not-ready:NoSchedule", "others:NoSchedule"))
	r.report(corev1.ConditionTrue)
	r.nodes.Until(healthy)
}

func TestLost(t *testing.T) {
	r := newRig(t)
	r.nodes.Until(healthy)
	r.pod("p")
	r.nodes.After(grace, unreachable)
	r.pods.One("p", func(p *corev1.Pod) bool { return ready(p) == corev1.ConditionFalse })
	// The kubelet is back, and says so.
	r.renew(1)
	r.report(corev1.ConditionTrue)
	r.nodes.Until(healthy)
}

// A kubelet that renews is not lost, whatever its clock says and however long its last report is ago.
func TestRenews(t *testing.T) {
	r := newRig(t)
	r.nodes.Until(healthy)
	r.nodes.Always(func(all []*corev1.Node) {
		if slices.Contains(state(all[0]), "Unknown") {
			t.Error("the node was given up")
		}
	})
	for i := range 10 {
		r.renew(i + 1)
		r.Clock.Add(grace * 9 / 10)
	}
	r.nodes.Always(nil)
	r.nodes.After(grace, unreachable)
}

// Scenario 126: the lease is deleted, its node is given up, and the kubelet makes the lease anew.
func TestLeaseMadeAnew(t *testing.T) {
	r := newRig(t)
	r.nodes.Until(healthy)
	require.NoError(t, kube.For[*coordinationv1.Lease](r.Cluster).Delete(t.Context(), leaseKey, metav1.DeleteOptions{}))
	r.nodes.After(grace, unreachable)
	r.lease()
	r.report(corev1.ConditionTrue)
	r.nodes.Until(healthy)
}

func TestEvicts(t *testing.T) {
	r := newRig(t)
	r.nodes.Until(healthy)
	tolerates := func(seconds *int64) corev1.Toleration {
		return corev1.Toleration{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, TolerationSeconds: seconds}
	}
	r.pod("usual")
	r.pod("short", tolerates(ptr.To[int64](60)))
	r.pod("long", tolerates(ptr.To[int64](3600)))
	r.pod("ever", tolerates(nil))
	r.nodes.After(grace, unreachable)
	goes := func(names ...string) func([]*corev1.Pod) bool {
		return func(all []*corev1.Pod) bool {
			var going []string
			for _, p := range all {
				if p.DeletionTimestamp != nil {
					going = append(going, p.Name)
				}
			}
			slices.Sort(going)
			return slices.Equal(going, names)
		}
	}
	r.pods.Until(goes())
	r.pods.After(time.Minute, goes("short"))
	r.pods.After(time.Minute, goes("short", "usual"))
	r.pods.After(time.Hour, goes("long", "short", "usual"))
}

func TestNodeIsNoMore(t *testing.T) {
	r := newRig(t)
	r.nodes.Until(healthy)
	r.pod("p")
	require.NoError(t, kube.For[*corev1.Node](r.Cluster).Delete(t.Context(), listwatch.Key{Name: "n"}, metav1.DeleteOptions{}))
	r.nodes.Until(func(all []*corev1.Node) bool { return len(all) == 0 })
	r.pods.After(grace, func(all []*corev1.Pod) bool { return len(all) == 0 })
}
