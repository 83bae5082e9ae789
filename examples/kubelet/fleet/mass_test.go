package fleet_test

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	goruntime "runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientrest "k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/seed3bce33ad/listwatch/examples/apiserver"
	"github.com/seed3bce33ad/listwatch/examples/controllers/control"
	"github.com/seed3bce33ad/listwatch/examples/controllers/nodelifecycle"
	"github.com/seed3bce33ad/listwatch/examples/controllers/replicaset"
	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/examples/kubelet/fleet"
	"github.com/seed3bce33ad/listwatch/examples/scheduler"
	"github.com/seed3bce33ad/listwatch/informer"
)

var (
	nodes = flag.Int("nodes", 20, "how many nodes TestMass has")
	pods  = flag.Int("pods", 200, "how many pods TestMass has")
)

// counted counts the requests of hollow nodes.
type counted struct {
	next                                       http.RoundTripper
	podWatches, nodeWatches, statuses, eventsN *atomic.Int32
}

func (c counted) RoundTrip(q *http.Request) (*http.Response, error) {
	watch := strings.Contains(q.URL.RawQuery, "watch=")
	switch path := q.URL.Path; {
	case watch && path == "/api/v1/pods":
		c.podWatches.Add(1)
	case watch && path == "/api/v1/nodes":
		c.nodeWatches.Add(1)
	case strings.Contains(path, "/pods/") && strings.HasSuffix(path, "/status"):
		c.statuses.Add(1)
	case strings.HasSuffix(path, "/events"):
		c.eventsN.Add(1)
	}
	return c.next.RoundTrip(q)
}

// seen is what is heard of pods and nodes.
type seen struct {
	mu               sync.Mutex
	ready, runs, ips map[string]bool
	readyNodes, run  chan struct{}
}

func (s *seen) node(_ context.Context, c informer.Change[*corev1.Node]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ready[c.Object.Name] && len(c.Object.Spec.Taints) == 0 {
		s.ready[c.Object.Name] = true
		if len(s.ready) == *nodes {
			close(s.readyNodes)
		}
	}
}

func (s *seen) pod(_ context.Context, c informer.Change[*corev1.Pod]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := c.Object; p.Status.Phase == corev1.PodRunning && !s.runs[p.Name] {
		s.runs[p.Name], s.ips[p.Status.PodIP] = true, true
		if len(s.runs) == *pods {
			close(s.run)
		}
	}
}

func wait(ctx context.Context, t *testing.T, c <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-c:
	case <-ctx.Done():
		t.Fatal("a part has ended")
	case <-time.After(10 * time.Minute):
		t.Fatal(what)
	}
}

func heap() uint64 {
	goruntime.GC()
	var m goruntime.MemStats
	goruntime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestMass(t *testing.T) {
	server, err := apiserver.Start(t.Context(), apiserver.Options{})
	require.NoError(t, err)
	var watches, nodeWatches, statuses, events atomic.Int32
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	connect := func(wrap func(http.RoundTripper) http.RoundTripper) *kube.Cluster {
		c, err := kube.Connect(&clientrest.Config{Host: server.URL(), WrapTransport: wrap})
		require.NoError(t, err)
		t.Cleanup(c.Close)
		return c
	}
	t.Cleanup(func() {
		cancel()
		running.Wait()
		require.NoError(t, server.Close())
	})
	in := func(f func(context.Context) error) {
		running.Go(func() {
			if err := f(ctx); err != nil && ctx.Err() == nil {
				t.Error(err)
				cancel()
			}
		})
	}
	log := slog.New(slog.DiscardHandler)
	env := control.Env{Cluster: connect(nil), Factory: &informer.Factory{Options: informer.Options{Logger: log}}, Clock: clock.New(), Logger: log}
	for _, make := range []control.Make{replicaset.New, nodelifecycle.Options{}.New} {
		c, err := make(env)
		require.NoError(t, err)
		in(c.Run)
	}
	s := &seen{ready: map[string]bool{}, runs: map[string]bool{}, ips: map[string]bool{}, readyNodes: make(chan struct{}), run: make(chan struct{})}
	podsSeen, err := kube.Follow[*corev1.Pod](env.Cluster, env.Factory, kube.Select{})
	require.NoError(t, err)
	_, err = podsSeen.AddHandler(ctx, s.pod, informer.HandlerOptions{})
	require.NoError(t, err)
	nodesSeen, err := kube.Follow[*corev1.Node](env.Cluster, env.Factory, kube.Select{})
	require.NoError(t, err)
	_, err = nodesSeen.AddHandler(ctx, s.node, informer.HandlerOptions{})
	require.NoError(t, err)
	in(env.Factory.Run)
	in(func(ctx context.Context) error { return scheduler.Run(ctx, scheduler.Options{Cluster: connect(nil)}) })

	start, before, heapBefore := time.Now(), goruntime.NumGoroutine(), heap()
	theirs := connect(func(next http.RoundTripper) http.RoundTripper {
		return counted{next, &watches, &nodeWatches, &statuses, &events}
	})
	in(func(ctx context.Context) error {
		return fleet.Run(ctx, fleet.Options{Cluster: theirs, Nodes: *nodes, Logger: log})
	})
	wait(ctx, t, s.readyNodes, "not all nodes are ready")
	t.Logf("%d nodes ready after %v: %d goroutines and %d KiB of heap more in the process", *nodes, time.Since(start),
		goruntime.NumGoroutine()-before, (int64(heap())-int64(heapBefore))>>10)

	start = time.Now()
	labels := map[string]string{"app": "mass"}
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "mass"}}
	set.Spec.Replicas, set.Spec.Selector = ptr.To(int32(*pods)), &metav1.LabelSelector{MatchLabels: labels}
	set.Spec.Template.Labels = labels
	set.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "web"}}
	_, err = kube.For[*appsv1.ReplicaSet](env.Cluster).Create(ctx, set)
	require.NoError(t, err)
	wait(ctx, t, s.run, fmt.Sprintf("not all of %d pods run", *pods))
	took := time.Since(start)
	t.Logf("%d pods run after %v: %.0f a second", *pods, took, float64(*pods)/took.Seconds())
	s.mu.Lock()
	defer s.mu.Unlock()
	require.Len(t, s.ips, *pods, "each pod has an address of its own")
	require.True(t, s.ready["hollow-1"] && s.ready[fmt.Sprint("hollow-", *nodes)])
	require.GreaterOrEqual(t, int(statuses.Load()), *pods)
	require.Less(t, int(statuses.Load()), *pods+max(*pods/10, 5), "one status a pod, but for what was very slow")
	require.EqualValues(t, 0, events.Load())
	require.EqualValues(t, []int32{1, 1}, []int32{watches.Load(), nodeWatches.Load()}, "watches of pods and nodes")
}
