package scheduler_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientrest "k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/apiserver"
	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/examples/scheduler"
	"github.com/seed3bce33ad/listwatch/examples/scheduler/placement"
	"github.com/seed3bce33ad/listwatch/informer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is an API server, and what the tests see of its pods.
type rig struct {
	t       *testing.T
	server  *apiserver.Server
	cluster *kube.Cluster
	pods    kube.Client[*corev1.Pod]
	seen    chan *corev1.Pod
}

func newRig(t *testing.T) *rig {
	t.Helper()
	server, err := apiserver.Start(t.Context(), apiserver.Options{CompactEvery: -1})
	require.NoError(t, err)
	r := &rig{t: t, server: server, seen: make(chan *corev1.Pod, 1000)}
	r.cluster = connect(t, server.URL())
	r.pods = kube.For[*corev1.Pod](r.cluster)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	var f informer.Factory
	pods, err := kube.Follow[*corev1.Pod](r.cluster, &f, kube.Select{})
	require.NoError(t, err)
	_, err = pods.AddHandler(t.Context(), func(_ context.Context, c informer.Change[*corev1.Pod]) {
		if c.Type != informer.Delete {
			r.seen <- c.Object
		}
	}, informer.HandlerOptions{Policy: informer.EveryEvent})
	require.NoError(t, err)
	r.background(t.Context(), f.Run)
	return r
}

func connect(t *testing.T, url string) *kube.Cluster {
	t.Helper()
	c, err := kube.Connect(&clientrest.Config{Host: url})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// background runs f until ctx is done; stop ends it before.
func (r *rig) background(ctx context.Context, f func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		if err := f(ctx); err != nil {
			r.t.Error(err)
		}
	})
	stop = func() { cancel(); running.Wait() }
	r.t.Cleanup(stop)
	return stop
}

// schedule runs a scheduler with a connection of its own.
func (r *rig) schedule(o scheduler.Options) (stop func()) {
	o.Cluster = connect(r.t, r.server.URL())
	o.Logger = slog.New(slog.NewTextHandler(r.t.Output(), nil))
	if o.Backoff == 0 {
		o.Backoff = time.Millisecond
	}
	return r.background(r.t.Context(), func(ctx context.Context) error { return scheduler.Run(ctx, o) })
}

func (r *rig) node(name, cpu string) *corev1.Node {
	r.t.Helper()
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	n.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourcePods: resource.MustParse("110")}
	n.Status.Capacity = n.Status.Allocatable
	nodes := kube.For[*corev1.Node](r.cluster)
	made, err := nodes.Create(r.t.Context(), n)
	require.NoError(r.t, err)
	made.Spec.Taints = nil // it is ready
	made, err = nodes.Update(r.t.Context(), made)
	require.NoError(r.t, err)
	return made
}

// pod makes a pod that asks for CPU; changes are made before.
func (r *rig) pod(name, cpu string, changes ...func(*corev1.Pod)) *corev1.Pod {
	r.t.Helper()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	p.Spec.Containers = []corev1.Container{{Name: "c", Image: "i"}}
	p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	for _, change := range changes {
		change(p)
	}
	made, err := r.pods.Create(r.t.Context(), p)
	require.NoError(r.t, err)
	return made
}

func (r *rig) remove(p *corev1.Pod) {
	r.t.Helper()
	err := r.pods.Delete(r.t.Context(), listwatch.KeyOf(p), metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)})
	require.NoError(r.t, err)
}

// until blocks until a state of a pod comes that is what is waited for.
func (r *rig) until(is func(*corev1.Pod) bool) *corev1.Pod {
	r.t.Helper()
	for {
		select {
		case p := <-r.seen:
			if is(p) {
				return p
			}
		case <-r.t.Context().Done():
			require.FailNow(r.t, "nothing came")
		}
	}
}

// untilBound blocks until a pod is on a node, and returns the node's name.
func (r *rig) untilBound(p *corev1.Pod) string {
	r.t.Helper()
	return r.until(func(o *corev1.Pod) bool { return o.UID == p.UID && o.Spec.NodeName != "" }).Spec.NodeName
}

// untilRefused blocks until a pod says that it fits nowhere.
func (r *rig) untilRefused(p *corev1.Pod) string {
	r.t.Helper()
	return condition(r.until(func(o *corev1.Pod) bool {
		return o.UID == p.UID && condition(o).Reason == corev1.PodReasonUnschedulable
	})).Message
}

func condition(p *corev1.Pod) corev1.PodCondition {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled {
			return c
		}
	}
	return corev1.PodCondition{}
}

func TestBindsPods(t *testing.T) {
	r := newRig(t)
	r.node("n1", "10")
	r.node("n2", "10")
	before := r.pod("before", "1")
	r.schedule(scheduler.Options{})
	on := map[string]int{r.untilBound(before): 1}
	for i := range 9 {
		p := r.pod(fmt.Sprint("p", i), "1")
		on[r.untilBound(p)]++
	}
	require.Equal(t, map[string]int{"n1": 5, "n2": 5}, on)
	bound, err := r.pods.Get(t.Context(), listwatch.KeyOf(before))
	require.NoError(t, err)
	require.Equal(t, corev1.ConditionTrue, condition(bound).Status)
}

func TestWaitsForANode(t *testing.T) {
	r := newRig(t)
	r.schedule(scheduler.Options{})
	p := r.pod("p", "1")
	require.Equal(t, "no nodes available to schedule pods", r.untilRefused(p))
	r.node("small", "500m")
	for r.untilRefused(p) != "0/1 nodes are available: 1 Insufficient cpu." { // the node was not ready at first
	}
	r.node("n", "1")
	require.Equal(t, "n", r.untilBound(p))
}

func TestWaitsForRoom(t *testing.T) {
	r := newRig(t)
	r.node("n", "1")
	r.schedule(scheduler.Options{})
	first := r.pod("first", "1")
	r.untilBound(first)
	second := r.pod("second", "1")
	r.untilRefused(second)
	r.remove(first)
	require.Equal(t, "n", r.untilBound(second))
}

// A pod whose gates open, or that is another one under its old name, is looked at anew though its key is parked.
func TestParkedKey(t *testing.T) {
	r := newRig(t)
	r.node("n", "1")
	r.schedule(scheduler.Options{})
	large := r.pod("p", "2")
	r.untilRefused(large)
	r.remove(large)
	small := r.pod("p", "1", func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/wait"}} })
	_, err := r.pods.Patch(t.Context(), listwatch.KeyOf(small), kube.Patch{Body: map[string]any{"spec": map[string]any{"schedulingGates": nil}}})
	require.NoError(t, err)
	require.Equal(t, "n", r.untilBound(small))
}

// Others take what was chosen before it could be bound; who was chosen is deleted while it is bound.
func TestBindingFails(t *testing.T) {
	r := newRig(t)
	r.node("n", "1")
	var pods []*corev1.Pod
	for i := range 20 {
		pods = append(pods, r.pod(fmt.Sprint("gone", i), "1"))
	}
	r.schedule(scheduler.Options{})
	for _, p := range pods {
		r.remove(p)
	}
	r.untilBound(r.pod("last", "1"))
}

// A scheduler that comes after another takes over what it has left.
func TestRestart(t *testing.T) {
	r := newRig(t)
	r.node("n", "2")
	stop := r.schedule(scheduler.Options{})
	r.untilBound(r.pod("a", "1"))
	stop()
	b := r.pod("b", "1")
	r.schedule(scheduler.Options{Profile: placement.RoundRobin})
	require.Equal(t, "n", r.untilBound(b))
	require.Equal(t, "0/1 nodes are available: 1 Insufficient cpu.", r.untilRefused(r.pod("c", "1")))
}

// Scenario 131: a pod is bound and deleted while the scheduler sees nothing. What it is told of it in the end is the state
// without a node; the room is there again.
func TestDeletedUnseen(t *testing.T) {
	r := newRig(t)
	r.node("n", "1")
	r.schedule(scheduler.Options{})
	for i := range 2 {
		p := r.pod(fmt.Sprint("p", i), "1")
		r.untilBound(p)
		r.server.CutConnections()
		r.cluster.Close()
		r.remove(p)
		require.NoError(t, r.server.Compact(t.Context()))
	}
	require.Equal(t, "n", r.untilBound(r.pod("last", "1")))
}

func TestPriority(t *testing.T) {
	r := newRig(t)
	for i := range 5 {
		r.pod(fmt.Sprint("low", i), "1")
	}
	high := r.pod("high", "1", func(p *corev1.Pod) { p.Spec.Priority = ptr.To[int32](1000) })
	r.node("n", "1")
	r.schedule(scheduler.Options{Workers: 1})
	p := r.until(func(p *corev1.Pod) bool { return p.Spec.NodeName != "" })
	require.Equal(t, high.UID, p.UID)
}

func TestSaysWhyNot(t *testing.T) {
	r := newRig(t)
	c := clock.NewMock()
	c.Set(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	r.schedule(scheduler.Options{Clock: c})
	p := r.pod("p", "1", func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "ssd"} })
	r.untilRefused(p)
	said, err := r.pods.Get(t.Context(), listwatch.KeyOf(p))
	require.NoError(t, err)
	require.Equal(t, corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
		Message: "no nodes available to schedule pods", LastTransitionTime: metav1.NewTime(c.Now().Local()),
	}, condition(said))

	var f informer.Factory
	events, err := kube.Follow[*corev1.Event](r.cluster, &f, kube.Select{Fields: "involvedObject.name=p"})
	require.NoError(t, err)
	told := make(chan *corev1.Event, 10)
	_, err = events.AddHandler(t.Context(), func(_ context.Context, c informer.Change[*corev1.Event]) { told <- c.Object }, informer.HandlerOptions{})
	require.NoError(t, err)
	r.background(t.Context(), f.Run)
	e := <-told
	require.Equal(t, []string{"Warning", "FailedScheduling", "no nodes available to schedule pods", "default-scheduler"},
		[]string{e.Type, e.Reason, e.Message, e.Source.Component})
	require.Equal(t, p.UID, e.InvolvedObject.UID)
}

func TestOptions(t *testing.T) {
	require.ErrorContains(t, scheduler.Run(t.Context(), scheduler.Options{}), "Cluster is missing")
	require.ErrorContains(t, scheduler.Run(t.Context(), scheduler.Options{Cluster: new(kube.Cluster), Profile: 7, Backoff: -1}), "no such Profile")
}
