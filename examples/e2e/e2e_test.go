package e2e_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/e2e/churn"
	"github.com/seed3bce33ad/listwatch/examples/e2e/pair"
	"github.com/seed3bce33ad/listwatch/reflector"
	"github.com/seed3bce33ad/listwatch/reflector/rest"
)

// TestKubernetes runs all phases in order on one cluster. Each begins and ends with caches that
// are equal to the server, so any of them can be run alone: -run TestKubernetes/etcd.
func TestKubernetes(t *testing.T) {
	ctx, cancel := signal.NotifyContext(t.Context(), os.Interrupt, syscall.SIGTERM)
	t.Cleanup(cancel)
	if end, ok := t.Deadline(); ok { // a test that is ended by go test leaves its processes behind
		ctx, cancel = context.WithDeadline(ctx, end.Add(-time.Minute))
		t.Cleanup(cancel)
	}
	began := time.Now()
	r := newRig(ctx, t)
	r.pairs = r.standing(t)
	t.Cleanup(func() { r.publish(t, began) })
	r.settle(t, &row{}, time.Now())
	r.phase(t, "churn", r.churn)
	r.phase(t, "nothing happens", r.quiet)
	r.phase(t, "compaction and 410", r.compaction)
	r.expiredPages(t)
	r.phase(t, "API server restarted", r.restart)
	r.phase(t, "API server killed twice", r.kill)
	r.phase(t, "API server stands still for 8 s", r.freeze)
	r.phase(t, "etcd killed", r.killEtcd)
	r.phase(t, "etcd stands still for 5 s", r.freezeEtcd)
	r.phase(t, "rights taken and given back", r.rights)
	r.phase(t, "token revoked, then replaced", r.token)
	r.goaway(t)
	r.phase(t, "custom kind deleted and made again", r.redefine)
	r.blackHole(t)
	r.phase(t, "etcd restored from a backup", r.restore)
	for _, p := range r.pairs {
		p.Stop() // they need not read the large list
	}
	r.large(t)
}

// publish prints the report, and writes it to the file that was asked for.
func (r *rig) publish(t *testing.T, began time.Time) {
	r.report.head = append(r.report.head,
		fmt.Sprintf("client-go of %s, %s on %s/%s with %d CPUs", clientGo(t), runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU()),
		fmt.Sprintf("%d writes (%d creates, %d updates, %d deletes; %d more failed in outages) with -seed %d, %s in all", r.writer.Writes(),
			r.writer.Creates.Load(), r.writer.Updates.Load(), r.writer.Deletes.Load(), r.writer.Failed.Load(), r.writer.Seed,
			time.Since(began).Round(time.Second)),
		fmt.Sprintf("%d pairs of informers live through all phases", len(r.pairs)))
	t.Logf("report:\n%s", r.report)
	if *reportFlag != "" {
		require.NoError(t, os.WriteFile(*reportFlag, []byte(r.report.String()), 0o644))
	}
}

// neverCompares is the pair whose library side has nothing but its watches, of ten seconds each.
const neverCompares = "never compares"

// standing starts the pairs that live through all phases. But for one, the library compares every
// 5 s, which has no effect unless its watches miss something: then Drift counts it.
func (r *rig) standing(t *testing.T) []*pair.Pair {
	tune := pair.Tuning{Reflector: reflector.Options{Relist: 5 * time.Second}}
	cm := churn.ConfigMaps
	watches := pair.Tuning{Reflector: reflector.Options{WatchTimeout: 10 * time.Second, Relist: -1}}
	return []*pair.Pair{
		start[*corev1.ConfigMap](t, r, &pair.Spec{Name: neverCompares, Kind: cm}, watches, pair.Typed),
		start[*corev1.ConfigMap](t, r, &pair.Spec{Name: "configmaps", Kind: cm}, tune, pair.Typed),
		start[rest.Object](t, r, &pair.Spec{Name: "untyped", Kind: cm}, tune, pair.Untyped),
		start[*metav1.PartialObjectMetadata](t, r, &pair.Spec{Name: "metadata", Kind: cm, Metadata: true}, tune, pair.Metadata),
		start[*corev1.ConfigMap](t, r, &pair.Spec{Name: "pages", Kind: cm, Page: 7}, tune, pair.Typed),
		start[*corev1.ConfigMap](t, r, &pair.Spec{Name: "label", Kind: cm, Label: "x"}, tune, pair.Typed),
		start[*corev1.ConfigMap](t, r, &pair.Spec{Name: "namespaces", Kind: cm, Namespaces: []string{"n1", "n2"}}, tune, pair.Typed),
		start[*corev1.Pod](t, r, &pair.Spec{Name: "pods", Kind: churn.Pods}, tune, pair.Typed),
		start[*corev1.Pod](t, r, &pair.Spec{Name: "pods of a node", Kind: churn.Pods, Node: churn.Node}, tune, pair.Typed),
		start[*corev1.Node](t, r, &pair.Spec{Name: "nodes", Kind: churn.Nodes}, tune, pair.Typed),
		start[*appsv1.Deployment](t, r, &pair.Spec{Name: "deployments", Kind: churn.Deployments, Page: 3}, tune, pair.Typed),
		start[rest.Object](t, r, &pair.Spec{Name: "widgets", Kind: churn.Widgets}, tune, pair.Untyped),
		start[*metav1.PartialObjectMetadata](t, r, &pair.Spec{Name: "widgets' metadata", Kind: churn.Widgets, Metadata: true, Page: 5}, tune, pair.Metadata),
	}
}

// start starts both sides of a pair, which end with the test.
func start[T listwatch.Object](t *testing.T, r *rig, s *pair.Spec, tune pair.Tuning, form pair.Form) *pair.Pair {
	ours, err := pair.NewOurs[T](s, r.access, tune)
	require.NoError(t, err)
	t.Cleanup(ours.Stop)
	theirs, err := pair.NewTheirs(s, r.access, form)
	require.NoError(t, err)
	t.Cleanup(theirs.Stop)
	return &pair.Pair{Spec: s, Ours: ours, Theirs: theirs, Fault: ours.Fault, Restored: ours.Restored}
}

// clientGo returns the version of client-go that the test is linked with.
func clientGo(t *testing.T) string {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Version}}", "k8s.io/client-go").Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(out))
}
