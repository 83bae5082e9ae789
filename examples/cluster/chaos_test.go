package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/cluster/crew"
	"github.com/seed3bce33ad/listwatch/examples/cluster/narrate"
	"github.com/seed3bce33ad/listwatch/examples/cluster/parts"
	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/informer"
)

var (
	chaosTime = flag.Duration("cluster.chaos", 10*time.Second, "how long TestChaos kills parts")
	chaosLog  = flag.String("cluster.log", "", "file for what parts tell during TestChaos")
	chaosSeed = flag.Uint64("cluster.seed", 0, "what TestChaos does by chance; 0: something else each time")
)

// chaos is a cluster whose parts are killed, and what there should be in it.
type chaos struct {
	t      *testing.T
	dir    string
	linked bool // pods have networks of their own
	crew   *crew.Crew
	admin  *kube.Cluster
	random *rand.Rand
	// wanted are the replicas of each deployment.
	wanted map[string]int32
	kills  map[string]int
}

// Parts are killed at random while deployments come, change and go. Afterwards all is as it should be, and what nobody has
// touched is as it was.
func TestChaos(t *testing.T) {
	seed := *chaosSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Log("seed", seed)
	s, err := parts.Prepare(parts.Settings{Dir: t.TempDir(), Nodes: 2})
	require.NoError(t, err)
	n := narrate.New(t.Output(), slog.LevelError)
	if *chaosLog != "" {
		file, err := os.Create(*chaosLog)
		require.NoError(t, err)
		defer file.Close()
		n = narrate.New(file, slog.LevelInfo)
	}
	run := &cluster{flags: flags{processes: true}, settings: s, n: n, factories: map[string]*informer.Factory{}}
	all, err := run.start(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() {
		all.Close()
		require.NoError(t, parts.Clean(s))
		gone(t, s.Dir)
	})
	require.NoError(t, run.ready(t.Context()))
	admin, err := kube.Load(s.Kubeconfig("admin"))
	require.NoError(t, err)
	defer admin.Close()
	c := &chaos{t: t, dir: s.Dir, linked: !s.ServiceIPs.Addr().IsLoopback(), crew: all, admin: admin, random: rand.New(rand.NewPCG(seed, 0)), wanted: map[string]int32{}, kills: map[string]int{}}
	c.create("steady", 4)
	c.settle()
	steady := c.steady()

	names := s.Names()
	for end := time.Now().Add(*chaosTime); time.Now().Before(end); {
		name := names[c.random.IntN(len(names))]
		all.Kill(name)
		c.kills[name]++
		for range c.random.IntN(4) {
			c.churn()
		}
		<-time.After(time.Duration(c.random.IntN(500)) * time.Millisecond) // parts come to different points meanwhile
	}
	t.Log("killed", c.kills)
	c.settle()
	require.Equal(t, steady, c.steady(), "nobody has touched them")
	for name := range maps.Clone(c.wanted) {
		c.delete(name)
	}
	c.settle()
	gone(t, s.Dir)
}

// try does something until it is done: the API server may be away.
func (c *chaos) try(what string, do func(context.Context) error) {
	c.t.Helper()
	var err error
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		ctx, cancel := context.WithTimeout(c.t.Context(), 5*time.Second)
		err = do(ctx)
		cancel()
		if err == nil {
			return
		}
		<-time.After(20 * time.Millisecond)
	}
	require.NoError(c.t, err, what)
}

// churn creates, scales, changes or deletes a deployment.
func (c *chaos) churn() {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(c.wanted)), func(name string) bool { return name == "steady" })
	if len(names) == 0 || len(names) < 5 && c.random.IntN(3) == 0 {
		c.create(fmt.Sprintf("d%d", c.random.IntN(1000)), int32(1+c.random.IntN(3)))
		return
	}
	name := names[c.random.IntN(len(names))]
	switch c.random.IntN(3) {
	case 0:
		c.delete(name)
	case 1:
		c.wanted[name] = int32(c.random.IntN(4))
		c.patch(name, map[string]any{"replicas": c.wanted[name]})
	default:
		c.patch(name, map[string]any{"template": map[string]any{"metadata": map[string]any{"annotations": map[string]any{
			"version": fmt.Sprint(c.random.IntN(1000))}}}})
	}
}

func (c *chaos) create(name string, replicas int32) {
	if _, found := c.wanted[name]; found {
		return
	}
	labels := map[string]string{"app": name}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: appsv1.DeploymentSpec{
		Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: ptr.To[int64](1), Containers: []corev1.Container{{Name: "web", Image: "builtin/web"}},
		}},
	}}
	c.try("create "+name, func(ctx context.Context) error {
		_, err := kube.For[*appsv1.Deployment](c.admin).Create(ctx, d)
		if apierrors.IsAlreadyExists(err) {
			return nil // the answer before was lost
		}
		return err
	})
	c.wanted[name] = replicas
}

func (c *chaos) patch(name string, spec map[string]any) {
	c.try("patch "+name, func(ctx context.Context) error {
		_, err := kube.For[*appsv1.Deployment](c.admin).Patch(ctx, listwatch.Key{Namespace: "default", Name: name}, kube.Patch{Body: map[string]any{"spec": spec}})
		return err
	})
}

func (c *chaos) delete(name string) {
	c.try("delete "+name, func(ctx context.Context) error {
		err := kube.For[*appsv1.Deployment](c.admin).Delete(ctx, listwatch.Key{Namespace: "default", Name: name}, metav1.DeleteOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
	delete(c.wanted, name)
}

// settle waits until there is what is wanted, and nothing else.
func (c *chaos) settle() {
	c.t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; {
		differs := c.differs()
		if differs == "" {
			return
		}
		if time.Now().After(end) {
			c.dump()
			require.FailNow(c.t, "it never came to that", "%s", differs)
		}
		<-time.After(100 * time.Millisecond)
	}
}

// dump tells how pods are, and what all goroutines of the parts do.
func (c *chaos) dump() {
	var pods any
	if err := c.list("/api/v1/namespaces/default/pods", &pods); err == nil {
		text, _ := json.Marshal(pods) // it came as JSON
		c.t.Logf("%s", text)
	}
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(c.t, err)
	for _, file := range all {
		line, _ := os.ReadFile(file) // it may have ended
		var pid int
		if _, err := fmt.Sscanf(file, "/proc/%d/", &pid); err == nil && strings.HasPrefix(string(line), "cluster ") {
			_ = syscall.Kill(pid, syscall.SIGQUIT)
		}
	}
	<-time.After(3 * time.Second)
}

// differs says in what the cluster isn't as it should be; "" when it is.
func (c *chaos) differs() string {
	var pods corev1.PodList
	var sets appsv1.ReplicaSetList
	var deployments appsv1.DeploymentList
	for path, into := range map[string]any{"/api/v1/namespaces/default/pods": &pods, "/apis/apps/v1/namespaces/default/replicasets": &sets,
		"/apis/apps/v1/namespaces/default/deployments": &deployments} {
		if err := c.list(path, into); err != nil {
			return err.Error()
		}
	}
	if len(deployments.Items) != len(c.wanted) {
		return fmt.Sprintf("%d deployments in place of %d", len(deployments.Items), len(c.wanted))
	}
	have := map[string]int32{}
	for _, p := range pods.Items {
		if p.DeletionTimestamp != nil || p.Status.Phase != corev1.PodRunning || !p.Status.ContainerStatuses[0].Ready {
			return fmt.Sprintf("pod %s is %s, to go: %v", p.Name, p.Status.Phase, p.DeletionTimestamp != nil)
		}
		have[p.Labels["app"]]++
	}
	for name, n := range c.wanted {
		if have[name] != n {
			return fmt.Sprintf("%s has %d pods in place of %d", name, have[name], n)
		}
		delete(have, name)
	}
	if len(have) > 0 {
		return fmt.Sprintf("there are pods of nobody: %v", have)
	}
	if boxes, links := left(c.t, c.dir); len(boxes) != len(pods.Items) || c.linked && len(links) != len(pods.Items) {
		return fmt.Sprintf("%d pods have %d sandboxes and %d links", len(pods.Items), len(boxes), len(links))
	}
	for _, s := range sets.Items {
		if _, found := c.wanted[s.Spec.Selector.MatchLabels["app"]]; !found {
			return "replicaset " + s.Name + " is nobody's"
		}
	}
	return ""
}

// list reads a collection.
func (c *chaos) list(path string, into any) error {
	client, base := c.admin.HTTP()
	return getJSON(c.t.Context(), client, base.JoinPath(path).String(), into)
}

// steady are the pods that nobody has touched: who they are, and since when their containers run.
func (c *chaos) steady() map[types.UID]string {
	all := map[types.UID]string{}
	c.try("list pods", func(ctx context.Context) error {
		var pods corev1.PodList
		if err := c.list("/api/v1/namespaces/default/pods", &pods); err != nil {
			return err
		}
		for _, p := range pods.Items {
			if p.Labels["app"] == "steady" {
				s := p.Status.ContainerStatuses[0]
				all[p.UID] = fmt.Sprint(s.ContainerID, s.RestartCount, s.State.Running.StartedAt)
			}
		}
		return nil
	})
	return all
}
