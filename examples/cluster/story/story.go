package story

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/cluster/crew"
	"github.com/seed3bce33ad/listwatch/examples/cluster/narrate"
	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/informer"
)

// Options say who plays. All fields must be set.
type Options struct {
	// Cluster is the connection of an administrator.
	Cluster *kube.Cluster
	// Factory is what the informers are made of that the story looks by. Its owner runs it.
	Factory *informer.Factory
	// Crew runs the parts, so that a node can be lost. It must have two nodes.
	Crew *crew.Crew
	// Narrator writes the chapters.
	Narrator *narrate.Narrator
}

// namespace is where the story plays.
const namespace = "shop"

// patience is how long a chapter may take.
const patience = 40 * time.Second

// teller is what the chapters need.
type teller struct {
	Options
	nodes       *informer.Informer[*corev1.Node]
	namespaces  *informer.Informer[*corev1.Namespace]
	accounts    *informer.Informer[*corev1.ServiceAccount]
	pods        *informer.Informer[*corev1.Pod]
	services    *informer.Informer[*corev1.Service]
	slices      *informer.Informer[*discoveryv1.EndpointSlice]
	deployments *informer.Informer[*appsv1.Deployment]
	jobs        *informer.Informer[*batchv1.Job]
	quotas      *informer.Informer[*corev1.ResourceQuota]
	events      *informer.Informer[*corev1.Event]
	changed     chan struct{}
	http        http.Client
}

// Play plays the story. It returns an error when the cluster doesn't do in time what it should.
func Play(ctx context.Context, o Options) error {
	t := &teller{Options: o, changed: make(chan struct{}, 1), http: http.Client{
		Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}}
	if err := t.follow(ctx); err != nil {
		return err
	}
	for i, c := range []struct {
		title string
		play  func(context.Context) error
	}{
		{"two nodes become ready", t.begin}, {"a namespace", t.makeNamespace}, {"a deployment of three", t.deploy},
		{"a service leads to all of them in turn", t.serve}, {"scaled to five", t.scale}, {"a node is lost, and comes back", t.loseNode},
		{"a probe fails, and the container is started again", t.failProbe}, {"another version is rolled out", t.rollOut},
		{"a job", t.work}, {"a quota is hit", t.hitQuota}, {"the namespace is deleted, and all in it", t.deleteAll},
	} {
		t.Narrator.Say("\n%d. %s\n", i+1, strings.ToUpper(c.title[:1])+c.title[1:])
		chapter, cancel := context.WithTimeoutCause(ctx, patience, errors.New("it took too long"))
		err := c.play(chapter)
		cancel()
		if err != nil {
			return fmt.Errorf("%s: %w", c.title, err)
		}
	}
	return nil
}

// follow makes the informers.
func (t *teller) follow(ctx context.Context) error {
	return errors.Join(
		watch(ctx, t, &t.nodes), watch(ctx, t, &t.namespaces), watch(ctx, t, &t.accounts), watch(ctx, t, &t.pods), watch(ctx, t, &t.services),
		watch(ctx, t, &t.slices), watch(ctx, t, &t.deployments), watch(ctx, t, &t.jobs), watch(ctx, t, &t.quotas), watch(ctx, t, &t.events),
	)
}

// watch makes an informer whose changes wake the teller.
func watch[T kube.Object](ctx context.Context, t *teller, to **informer.Informer[T]) error {
	i, err := kube.Follow[T](t.Cluster, t.Factory, kube.Select{})
	if err != nil {
		return err
	}
	*to = i
	_, err = i.AddHandler(ctx, func(context.Context, informer.Change[T]) {
		select {
		case t.changed <- struct{}{}:
		default:
		}
	}, informer.HandlerOptions{Name: "story"})
	return err
}

// until waits until something is seen, and says so.
func (t *teller) until(ctx context.Context, what string, seen func() bool) error {
	for !seen() {
		select {
		case <-t.changed:
		case <-ctx.Done():
			return fmt.Errorf("%w: %s", context.Cause(ctx), what)
		}
	}
	t.Narrator.Logger("story").Info("seen: " + what)
	return nil
}

// in returns the objects of an informer that are in the story's namespace, and with which ok agrees.
func in[T kube.Object](i *informer.Informer[T], ok func(T) bool) []T {
	var all []T
	for _, o := range i.Indexer().Namespace(namespace) {
		if ok(o) {
			all = append(all, o)
		}
	}
	return all
}

// web tells whether a pod is one of the deployment that can be reached.
func web(p *corev1.Pod) bool {
	if p.Labels["app"] != "web" || p.DeletionTimestamp != nil {
		return false
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// ready counts the addresses that the service leads to.
func (t *teller) ready() int {
	n := 0
	for _, s := range in(t.slices, func(s *discoveryv1.EndpointSlice) bool { return s.Labels[discoveryv1.LabelServiceName] == "web" }) {
		for _, e := range s.Endpoints {
			if e.Conditions.Ready == nil || *e.Conditions.Ready {
				n++
			}
		}
	}
	return n
}

// at is the key of a name in the story's namespace.
func at(name string) listwatch.Key { return listwatch.Key{Namespace: namespace, Name: name} }
