package story

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/kube"
)

func (t *teller) begin(ctx context.Context) error {
	return t.until(ctx, "two nodes are ready, and nothing keeps pods away", func() bool { return t.readyNodes() >= 2 })
}

// readyNodes counts the nodes that pods may go to.
func (t *teller) readyNodes() int {
	n := 0
	for _, node := range t.nodes.Indexer().All() {
		for _, c := range node.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue && len(node.Spec.Taints) == 0 {
				n++
			}
		}
	}
	return n
}

func (t *teller) makeNamespace(ctx context.Context) error {
	_, err := kube.For[*corev1.Namespace](t.Cluster).Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	if err != nil {
		return err
	}
	return t.until(ctx, "it has the service account that pods run as", func() bool {
		_, found := t.accounts.Indexer().Get(at("default"))
		return found
	})
}

func (t *teller) deploy(ctx context.Context) error {
	if _, err := kube.For[*appsv1.Deployment](t.Cluster).Create(ctx, shop()); err != nil {
		return err
	}
	return t.until(ctx, "three pods are ready", func() bool { return t.rolledOut(3) })
}

// rolledOut tells whether all pods of the deployment are there, and are the newest.
func (t *teller) rolledOut(n int32) bool {
	d, found := t.deployments.Indexer().Get(at("web"))
	return found && d.Status.ObservedGeneration == d.Generation && *d.Spec.Replicas == n && d.Status.Replicas == n &&
		d.Status.UpdatedReplicas == n && d.Status.AvailableReplicas == n
}

func (t *teller) serve(ctx context.Context) error {
	s, err := kube.For[*corev1.Service](t.Cluster).Create(ctx, door())
	if err != nil {
		return err
	}
	if err := t.until(ctx, "the service has three addresses", func() bool { return t.ready() == 3 }); err != nil {
		return err
	}
	return t.ask(ctx, s, 3)
}

// ask asks the service until as many pods as it should have answered.
func (t *teller) ask(ctx context.Context, s *corev1.Service, pods int) error {
	answered := map[string]int{}
	for asked := 0; len(answered) < pods; {
		name, err := t.get(ctx, "http://"+net.JoinHostPort(s.Spec.ClusterIP, fmt.Sprint(s.Spec.Ports[0].Port))+"/")
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil: // the proxy is a moment behind
			continue
		}
		answered[name]++
		if asked++; asked > 10*pods {
			return fmt.Errorf("of %d pods these have answered: %v", pods, answered)
		}
	}
	t.Narrator.Logger("story").Info("asked", "address", s.Spec.ClusterIP, "answers", fmt.Sprint(answered))
	return nil
}

// get asks for a page.
func (t *teller) get(ctx context.Context, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := t.http.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return strings.TrimSpace(string(text)), err
}

func (t *teller) scale(ctx context.Context) error {
	if err := t.resize(ctx, 5); err != nil {
		return err
	}
	if err := t.until(ctx, "five pods are ready", func() bool { return t.rolledOut(5) }); err != nil {
		return err
	}
	return t.until(ctx, "the service has five addresses", func() bool { return t.ready() == 5 })
}

func (t *teller) resize(ctx context.Context, n int) error {
	_, err := kube.For[*appsv1.Deployment](t.Cluster).Patch(ctx, at("web"), kube.Patch{Body: map[string]any{"spec": map[string]any{"replicas": n}}})
	return err
}

func (t *teller) loseNode(ctx context.Context) error {
	lost := "node2"
	t.Crew.Stop(lost)
	t.Narrator.Logger("story").Info("the kubelet of " + lost + " was stopped; its containers go on")
	if err := t.until(ctx, "the node isn't ready", func() bool { return t.readyNodes() == 1 }); err != nil {
		return err
	}
	if err := t.until(ctx, "five pods are ready, none of them there", func() bool {
		pods := in(t.pods, web)
		return len(pods) == 5 && !slices.ContainsFunc(pods, func(p *corev1.Pod) bool { return p.Spec.NodeName == lost }) && t.ready() == 5
	}); err != nil {
		return err
	}
	if err := t.Crew.Start(ctx, lost); err != nil {
		return err
	}
	return t.until(ctx, "the node is back, and has ended what was to go", func() bool {
		return t.readyNodes() >= 2 && len(in(t.pods, func(p *corev1.Pod) bool { return p.DeletionTimestamp != nil })) == 0
	})
}

func (t *teller) failProbe(ctx context.Context) error {
	p := in(t.pods, web)[0]
	if _, err := t.get(ctx, "http://"+net.JoinHostPort(p.Status.PodIP, "8080")+"/fail"); err != nil {
		return err
	}
	return t.until(ctx, "its container runs for the second time, and is ready", func() bool {
		now, found := t.pods.Indexer().Get(listwatch.KeyOf(p))
		return found && web(now) && now.Status.ContainerStatuses[0].RestartCount == 1
	})
}

func (t *teller) rollOut(ctx context.Context) error {
	body := map[string]any{"spec": map[string]any{"template": map[string]any{"metadata": map[string]any{
		"annotations": map[string]any{"version": "2"}}}}}
	if _, err := kube.For[*appsv1.Deployment](t.Cluster).Patch(ctx, at("web"), kube.Patch{Body: body}); err != nil {
		return err
	}
	if err := t.until(ctx, "all five pods are of the new version", func() bool { return t.rolledOut(5) }); err != nil {
		return err
	}
	s, _ := t.services.Indexer().Get(at("web"))
	if err := t.until(ctx, "the service has the new five addresses", func() bool { return t.ready() == 5 }); err != nil {
		return err
	}
	return t.ask(ctx, s, 5)
}
