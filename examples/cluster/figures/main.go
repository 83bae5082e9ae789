// Command figures measures a cluster with many hollow nodes: how long pods take until all of them run, and what each part
// costs. Each part is a process of its own.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seed3bce33ad/listwatch/examples/cluster/crew"
	"github.com/seed3bce33ad/listwatch/examples/cluster/narrate"
	"github.com/seed3bce33ad/listwatch/examples/cluster/parts"
	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/examples/runtime/process"
	"github.com/seed3bce33ad/listwatch/informer"
)

func main() {
	process.Reexec()
	crew.Reexec()
	nodes := flag.Int("nodes", 1000, "`number` of hollow nodes")
	pods := flag.Int("pods", 10000, "`number` of pods, a hundredth of them in each deployment")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *nodes, *pods, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "figures:", err)
		os.Exit(1)
	}
}

// deployments is how many the pods are of.
const deployments = 100

// run measures and writes the figures.
func run(ctx context.Context, nodes, pods int, out io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "figures-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s, err := parts.Prepare(parts.Settings{Dir: dir, Hollow: nodes})
	if err != nil {
		return err
	}
	log := narrate.New(os.Stderr, slog.LevelError)
	c := crew.New(crew.Options{Names: s.Names(), Launch: crew.Apart(s, log.Logger), Logger: log.Logger})
	defer c.Close()
	if err := c.StartAll(ctx); err != nil {
		return err
	}
	w, err := follow(ctx, s)
	if err != nil {
		return err
	}
	defer w.close()
	began := time.Now()
	if err := w.until(ctx, func() bool { return w.ready() == nodes }); err != nil {
		return err
	}
	fmt.Fprintf(out, "%d nodes ready: %.1f s\n", nodes, time.Since(began).Seconds())
	before := usage(s.Names())
	began = time.Now()
	if err := w.deploy(ctx, pods); err != nil {
		return err
	}
	if err := w.until(ctx, func() bool { return w.count(scheduled) == pods }); err != nil {
		return err
	}
	placed := time.Since(began)
	if err := w.until(ctx, func() bool { return w.count(runs) == pods }); err != nil {
		return err
	}
	took := time.Since(began)
	fmt.Fprintf(out, "%d pods scheduled: %.1f s, %.0f a second\n%d pods running: %.1f s\n", pods, placed.Seconds(),
		float64(pods)/placed.Seconds(), pods, took.Seconds())
	fmt.Fprintln(out, "| process | CPU, s | memory, MB | most, MB |\n|---|---|---|---|")
	after := usage(s.Names())
	for _, name := range s.Names() {
		fmt.Fprintf(out, "| %s | %.1f | %d | %d |\n", name, after[name].cpu-before[name].cpu, after[name].memory>>20, after[name].most>>20)
	}
	return nil
}

// watcher sees how far it is.
type watcher struct {
	cluster *kube.Cluster
	pods    *informer.Informer[*corev1.Pod]
	nodes   *informer.Informer[*corev1.Node]
	cancel  context.CancelFunc
	running sync.WaitGroup
}

func follow(ctx context.Context, s parts.Settings) (*watcher, error) {
	w := &watcher{}
	var err error
	if w.cluster, err = kube.Load(s.Kubeconfig("admin")); err != nil {
		return nil, err
	}
	factory := &informer.Factory{}
	if w.pods, err = kube.Follow[*corev1.Pod](w.cluster, factory, kube.Select{}); err != nil {
		return nil, err
	}
	if w.nodes, err = kube.Follow[*corev1.Node](w.cluster, factory, kube.Select{}); err != nil {
		return nil, err
	}
	ctx, w.cancel = context.WithCancel(ctx)
	w.running.Go(func() { _ = factory.Run(ctx) }) // until would find out
	return w, nil
}

func (w *watcher) close() {
	w.cancel()
	w.running.Wait()
	w.cluster.Close()
}

// until looks ten times a second whether something is so.
func (w *watcher) until(ctx context.Context, is func() bool) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// ready counts the nodes that pods may go to.
func (w *watcher) ready() int {
	n := 0
	for _, node := range w.nodes.Indexer().All() {
		if len(node.Spec.Taints) == 0 {
			n++
		}
	}
	return n
}

func scheduled(p *corev1.Pod) bool { return p.Spec.NodeName != "" }

func runs(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning }

func (w *watcher) count(is func(*corev1.Pod) bool) int {
	n := 0
	for _, p := range w.pods.Indexer().All() {
		if is(p) {
			n++
		}
	}
	return n
}

// deploy makes the deployments.
func (w *watcher) deploy(ctx context.Context, pods int) error {
	for i := range deployments {
		replicas := int32(pods*(i+1)/deployments - pods*i/deployments)
		labels := map[string]string{"app": fmt.Sprint("d", i)}
		_, err := kube.For[*appsv1.Deployment](w.cluster).Create(ctx, &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: labels["app"]},
			Spec: appsv1.DeploymentSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}},
		})
		if err != nil {
			return err
		}
	}
	return nil
}
