package placement_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/seed3bce33ad/listwatch/examples/scheduler/placement"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newNode has room for 10 CPUs, 10 GiB and 10 pods. more is YAML of what else it has.
func newNode(t testing.TB, name, more string) *corev1.Node {
	t.Helper()
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("node " + name)}}
	n.Labels = map[string]string{corev1.LabelHostname: name}
	n.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("10"), corev1.ResourceMemory: resource.MustParse("10Gi"), corev1.ResourcePods: resource.MustParse("10"),
	}
	require.NoError(t, yaml.Unmarshal([]byte(more), n))
	return n
}

// newPod is a pod of YAML, with the UID of its name.
func newPod(t testing.TB, name, more string) *corev1.Pod {
	t.Helper()
	p := &corev1.Pod{}
	require.NoError(t, yaml.Unmarshal([]byte(more), p))
	p.Namespace, p.Name, p.UID = "default", name, types.UID(name)
	return p
}

// asks is the spec of a pod that asks for CPU and memory.
func asks(cpu, memory string) string {
	return fmt.Sprintf("spec: {containers: [{name: c, resources: {requests: {cpu: %s, memory: %s}}}]}", cpu, memory)
}

func bound(p *corev1.Pod, node string) *corev1.Pod {
	p = p.DeepCopy()
	p.Spec.NodeName = node
	return p
}

const apartFromWeb = `spec: {affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [
	{topologyKey: zone, labelSelector: {matchLabels: {app: web}}}]}}}`

// Each pod goes to the one node that will do, or says why there is none.
func TestFilters(t *testing.T) {
	for _, c := range []struct {
		name, pod  string
		node       string // what the only node has
		there      string // a pod that is on it
		why        string
		nodesAlone bool // a pod that goes makes no difference
	}{
		{name: "nothing asked"},
		{name: "all there is", pod: asks("10", "10Gi")},
		{name: "cpu", pod: asks("9", "1Gi"), there: asks("1500m", "1"), why: "1 Insufficient cpu"},
		{name: "memory", pod: asks("1", "9Gi"), there: asks("1m", "2Gi"), why: "1 Insufficient memory"},
		{name: "both", pod: asks("11", "11Gi"), why: "1 Insufficient cpu, 1 Insufficient memory"},
		{name: "pods", node: "status: {allocatable: {cpu: 1, pods: 1}}", there: "{}", why: "1 Too many pods"},
		{name: "an init container asks for more", pod: "spec: {containers: [{name: c}], initContainers: [{name: i, resources: {requests: {cpu: 11}}}]}",
			why: "1 Insufficient cpu"},
		{name: "another resource", pod: "spec: {containers: [{name: c, resources: {requests: {example.com/gpu: 1}}}]}", why: "1 Insufficient example.com/gpu"},
		{name: "another resource is there", pod: "spec: {containers: [{name: c, resources: {requests: {example.com/gpu: 1}}}]}",
			node: "status: {allocatable: {example.com/gpu: 1, pods: 9}}"},
		{name: "another resource is used", pod: "spec: {containers: [{name: c, resources: {requests: {example.com/gpu: 1}}}]}",
			node: "status: {allocatable: {example.com/gpu: 1, pods: 9}}", why: "1 Insufficient example.com/gpu",
			there: "spec: {containers: [{name: c, resources: {requests: {example.com/gpu: 1}}}]}"},
		{name: "no selector", pod: "spec: {nodeSelector: {disk: ssd}}", why: "1 node(s) didn't match Pod's node affinity/selector", nodesAlone: true},
		{name: "selector", pod: "spec: {nodeSelector: {disk: ssd}}", node: "metadata: {labels: {disk: ssd}}"},
		{name: "affinity", pod: `spec: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [
			{matchExpressions: [{key: disk, operator: NotIn, values: [hdd]}]}]}}}}`, node: "metadata: {labels: {disk: hdd}}",
			why: "1 node(s) didn't match Pod's node affinity/selector", nodesAlone: true},
		{name: "taint", node: "spec: {taints: [{key: a, effect: NoSchedule}]}", why: "1 node(s) had untolerated taint(s)", nodesAlone: true},
		{name: "taint of running pods", node: "spec: {taints: [{key: a, effect: NoExecute}]}", why: "1 node(s) had untolerated taint(s)", nodesAlone: true},
		{name: "preference", node: "spec: {taints: [{key: a, effect: PreferNoSchedule}]}"},
		{name: "tolerated", pod: "spec: {tolerations: [{key: a, operator: Exists}]}", node: "spec: {taints: [{key: a, effect: NoSchedule}]}"},
		{name: "cordoned", node: "spec: {unschedulable: true}", why: "1 node(s) were unschedulable", nodesAlone: true},
		{name: "cordoned, tolerated", pod: "spec: {tolerations: [{operator: Exists}]}", node: "spec: {unschedulable: true}"},
		{name: "port", pod: "spec: {containers: [{name: c, ports: [{hostPort: 80}]}]}", there: "spec: {containers: [{name: c, ports: [{hostPort: 80, hostIP: 1.2.3.4}]}]}",
			why: "1 node(s) didn't have free ports for the requested pod ports"},
		{name: "port of an address", pod: "spec: {containers: [{name: c, ports: [{hostPort: 80, hostIP: 1.2.3.4}]}]}", there: "spec: {containers: [{name: c, ports: [{hostPort: 80}]}]}",
			why: "1 node(s) didn't have free ports for the requested pod ports"},
		{name: "port of another address", pod: "spec: {containers: [{name: c, ports: [{hostPort: 80, hostIP: 1.2.3.4}]}]}", there: "spec: {containers: [{name: c, ports: [{hostPort: 80, hostIP: 1.2.3.5}]}]}"},
		{name: "port of another protocol", pod: "spec: {containers: [{name: c, ports: [{hostPort: 80, protocol: UDP}]}]}", there: "spec: {containers: [{name: c, ports: [{hostPort: 80}]}]}"},
		{name: "away from others", pod: apartFromWeb, node: "metadata: {labels: {zone: a}}", there: "metadata: {labels: {app: web}}",
			why: "1 node(s) didn't match pod anti-affinity rules"},
		{name: "away from others, no zone", pod: apartFromWeb, there: "metadata: {labels: {app: web}}"},
		{name: "others want it away", pod: "metadata: {labels: {app: web}}", node: "metadata: {labels: {zone: a}}", there: apartFromWeb,
			why: "1 node(s) didn't satisfy existing pods anti-affinity rules"},
		{name: "another node by name", pod: "spec: {nodeName: n2}", why: "1 node(s) didn't match the requested node name", nodesAlone: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			ns := placement.New(placement.Balanced)
			ns.SetNode(newNode(t, "n", c.node))
			if c.there != "" {
				ns.SetPod(bound(newPod(t, "there", c.there), "n"))
			}
			name, err := ns.Place(newPod(t, "p", c.pod))
			if c.why == "" {
				require.NoError(t, err)
				require.Equal(t, "n", name)
				return
			}
			require.EqualError(t, err, "0/1 nodes are available: "+c.why+".")
			var fit *placement.FitError
			require.ErrorAs(t, err, &fit)
			require.False(t, fit.Changed.Fired())
			ns.RemovePod("there")
			require.Equal(t, !c.nodesAlone && c.there != "", fit.Changed.Fired())
			ns.SetNode(newNode(t, "other", ""))
			require.True(t, fit.Changed.Fired())
		})
	}
}

func TestSignals(t *testing.T) {
	ns := placement.New(placement.RoundRobin)
	failed := func() *placement.FitError {
		_, err := ns.Place(newPod(t, "p", asks("6", "1")))
		var fit *placement.FitError
		require.ErrorAs(t, err, &fit)
		return fit
	}
	fit := failed()
	require.EqualError(t, fit, "no nodes available to schedule pods")
	n := newNode(t, "n", "")
	ns.SetNode(n)
	require.True(t, fit.Changed.Fired())
	there := bound(newPod(t, "there", asks("6", "1")), "n")
	ns.SetPod(there)

	for _, c := range []struct {
		name    string
		happens func()
		fires   bool
	}{
		{"a heartbeat", func() {
			n = n.DeepCopy()
			n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: corev1.NodeReady})
			ns.SetNode(n)
		}, false},
		{"a status of the pod", func() {
			there = there.DeepCopy()
			there.Status.Phase = corev1.PodRunning
			ns.SetPod(there)
		}, false},
		{"a label of the node", func() { ns.SetNode(newNode(t, "n", "metadata: {labels: {a: b}}")) }, true},
		{"a pod that was not there", func() { ns.RemovePod("nobody"); ns.Forget("nobody") }, false},
		{"a wish of another", ns.Wake, true},
	} {
		fit := failed()
		c.happens()
		require.Equal(t, c.fires, fit.Changed.Fired(), c.name)
	}
	fit = failed()
	there = there.DeepCopy()
	there.Status.Phase = corev1.PodSucceeded
	ns.SetPod(there)
	require.True(t, fit.Changed.Fired(), "a pod that has finished needs no room")
	_, err := ns.Place(newPod(t, "p", asks("6", "1")))
	require.NoError(t, err)
}

func TestAssumed(t *testing.T) {
	ns := placement.New(placement.Balanced)
	ns.SetNode(newNode(t, "n", ""))
	first, second := newPod(t, "first", asks("6", "1")), newPod(t, "second", asks("6", "1"))
	fits := func(want bool) {
		t.Helper()
		_, err := ns.Place(second)
		require.Equal(t, want, err == nil, err)
		ns.Forget(second.UID)
	}
	name, err := ns.Place(first)
	require.NoError(t, err)
	require.Equal(t, "n", name)
	fits(false)
	ns.SetPod(first) // an old state of it, without a node
	fits(false)
	again, err := ns.Place(first)
	require.NoError(t, err)
	require.Equal(t, "n", again)
	ns.Forget(first.UID)
	require.Empty(t, ns.Bound(first.UID))
	fits(true)

	_, err = ns.Place(first)
	require.NoError(t, err)
	ns.SetPod(bound(first, "n"))
	ns.Forget(first.UID) // it is there
	require.Equal(t, "n", ns.Bound(first.UID))
	fits(false)
	ns.SetPod(bound(first, "elsewhere")) // somebody else has bound it
	fits(true)
	ns.RemovePod(first.UID)
	require.Empty(t, ns.Bound(first.UID))
}

// Scenario 131: the last that was seen of a pod that was deleted has no node.
func TestRemovedWithoutNode(t *testing.T) {
	ns := placement.New(placement.Balanced)
	ns.SetNode(newNode(t, "n", ""))
	p := newPod(t, "p", asks("10", "1"))
	_, err := ns.Place(p)
	require.NoError(t, err)
	ns.RemovePod(p.UID)
	_, err = ns.Place(newPod(t, "next", asks("10", "1")))
	require.NoError(t, err)
}

func TestPlaceAtOnce(t *testing.T) {
	ns := placement.New(placement.Balanced)
	for i := range 5 {
		ns.SetNode(newNode(t, fmt.Sprint("n", i), ""))
	}
	var mu sync.Mutex
	on, failed := map[string]int{}, 0
	var group sync.WaitGroup
	for w := range 4 {
		group.Go(func() {
			for i := range 10 {
				name, err := ns.Place(newPod(t, fmt.Sprintf("p-%d-%d", w, i), asks("2", "1")))
				mu.Lock()
				if err == nil {
					on[name]++
				} else {
					failed++
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	require.Equal(t, map[string]int{"n0": 5, "n1": 5, "n2": 5, "n3": 5, "n4": 5}, on)
	require.Equal(t, 15, failed)
}

func TestScores(t *testing.T) {
	owned := func(name, owner string) *corev1.Pod {
		p := newPod(t, name, asks("1", "1Gi"))
		p.OwnerReferences = []metav1.OwnerReference{{UID: types.UID(owner), Controller: ptr.To(true)}}
		return p
	}
	for name, c := range map[string]struct {
		first, second string
		there         []*corev1.Pod
		pod           *corev1.Pod
		want          string
	}{
		"least allocated": {there: []*corev1.Pod{bound(newPod(t, "x", asks("4", "4Gi")), "first")}, pod: newPod(t, "p", asks("1", "1Gi")), want: "second"},
		"a little counts": {there: []*corev1.Pod{bound(newPod(t, "x", "spec: {containers: [{name: c}]}"), "first")}, pod: newPod(t, "p", asks("1", "1Gi")), want: "second"},
		"spread, though there is less room": {
			there: []*corev1.Pod{bound(owned("x", "a"), "first"), bound(newPod(t, "y", asks("3", "3Gi")), "second")}, pod: owned("p", "a"), want: "second",
		},
		"preferred": {second: "metadata: {labels: {disk: ssd}}", want: "second",
			pod: newPod(t, "p", `spec: {affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [
				{weight: 5, preference: {matchExpressions: [{key: disk, operator: Exists}]}}]}}}`)},
		"avoided": {first: "spec: {taints: [{key: a, effect: PreferNoSchedule}]}", pod: newPod(t, "p", ""), want: "second"},
		"equal":   {pod: newPod(t, "p", ""), want: "first"},
	} {
		t.Run(name, func(t *testing.T) {
			ns := placement.New(placement.Balanced)
			ns.SetNode(newNode(t, "first", c.first))
			ns.SetNode(newNode(t, "second", c.second))
			for _, p := range c.there {
				ns.SetPod(p)
			}
			got, err := ns.Place(c.pod)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestTurns(t *testing.T) {
	ns := placement.New(placement.RoundRobin)
	for i := range 3 {
		ns.SetNode(newNode(t, fmt.Sprint("n", i), ""))
	}
	var turns []string
	for i := range 7 {
		name, err := ns.Place(newPod(t, fmt.Sprint("p", i), ""))
		require.NoError(t, err)
		turns = append(turns, name)
	}
	require.Equal(t, "n0 n1 n2 n0 n1 n2 n0", strings.Join(turns, " "))
	ns.RemoveNode("n1")
	name, err := ns.Place(newPod(t, "last", ""))
	require.NoError(t, err)
	require.Equal(t, "n2", name)
}

func ExampleNodes() {
	nodes := placement.New(placement.RoundRobin)
	_, err := nodes.Place(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "1"}})
	var fit *placement.FitError
	fmt.Println(errors.As(err, &fit), err)
	nodes.SetNode(&corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n1"},
		Status:     corev1.NodeStatus{Allocatable: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("110")}},
	})
	fmt.Println(fit.Changed.Fired())
	fmt.Println(nodes.Place(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "1"}}))
	// Output:
	// true no nodes available to schedule pods
	// true
	// n1 <nil>
}

// BenchmarkPlace places 50,000 pods, each of one of 500 owners, on 5,000 nodes.
func BenchmarkPlace(b *testing.B) {
	const nodes, pods = 5000, 50_000
	for name, profile := range map[string]placement.Profile{"balanced": placement.Balanced, "round robin": placement.RoundRobin} {
		b.Run(name, func(b *testing.B) {
			all := make([]*corev1.Pod, pods)
			for i := range all {
				all[i] = newPod(b, fmt.Sprint("p", i), asks("500m", "500Mi"))
				all[i].OwnerReferences = []metav1.OwnerReference{{UID: types.UID(fmt.Sprint(i % 500)), Controller: ptr.To(true)}}
			}
			var before, after runtime.MemStats
			for b.Loop() {
				runtime.GC()
				runtime.ReadMemStats(&before)
				ns := placement.New(profile)
				for i := range nodes {
					n := newNode(b, fmt.Sprint("n", i), "")
					n.Status.Allocatable[corev1.ResourcePods] = resource.MustParse("110")
					ns.SetNode(n)
				}
				for _, p := range all {
					name, err := ns.Place(p)
					if err != nil {
						b.Fatal(err)
					}
					ns.SetPod(bound(p, name))
				}
				runtime.GC()
				runtime.ReadMemStats(&after)
				runtime.KeepAlive(ns)
			}
			b.ReportMetric(float64(pods*b.N)/b.Elapsed().Seconds(), "pods/s")
			b.ReportMetric(float64(int64(after.HeapAlloc)-int64(before.HeapAlloc))/(1<<20), "MiB")
			b.ReportMetric(0, "ns/op")
		})
	}
}
