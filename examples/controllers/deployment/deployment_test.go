package deployment_test

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/seed3bce33ad/listwatch/examples/controllers/controltest"
	"github.com/seed3bce33ad/listwatch/examples/controllers/deployment"
	"github.com/seed3bce33ad/listwatch/examples/controllers/replicaset"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var web = map[string]string{"app": "web"}

const revision = "deployment.kubernetes.io/revision"

// newDeployment returns one of 4 pods, of which one may be missing and one too many.
func newDeployment(image string) *appsv1.Deployment {
	one := intstr.FromInt32(1)
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "d"},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](4), Selector: &metav1.LabelSelector{MatchLabels: web},
			Strategy: appsv1.DeploymentStrategy{
				Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &one, MaxUnavailable: &one},
			},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: web},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: image}}},
			},
		},
	}
}

// rig is a world with deployments.
type rig struct {
	*controltest.World
	deployments *controltest.View[*appsv1.Deployment]
	sets        *controltest.View[*appsv1.ReplicaSet]
	pods        *controltest.View[*corev1.Pod]
}

func newRig(t *testing.T) rig {
	w := controltest.New(t, deployment.New, replicaset.New)
	w.Kubelet(func(w *controltest.World, p *corev1.Pod) {
		if !strings.HasPrefix(p.Spec.Containers[0].Image, "broken") {
			controltest.Ready(w, p)
		}
	})
	return rig{w, controltest.Watch[*appsv1.Deployment](w), controltest.Watch[*appsv1.ReplicaSet](w), controltest.Watch[*corev1.Pod](w)}
}

// set changes the deployment's spec.
func (r rig) set(spec map[string]any) *appsv1.Deployment {
	return controltest.Merge[*appsv1.Deployment](r.World, "d", "", map[string]any{"spec": spec})
}

func (r rig) image(image string) *appsv1.Deployment {
	return r.set(map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "c", "image": image}}}}})
}

// done waits until kubectl rollout status would say that the rollout is over, at that generation or later.
func (r rig) done(generation int64) *appsv1.Deployment {
	r.T.Helper()
	return r.deployments.One("d", func(d *appsv1.Deployment) bool {
		s, n := d.Status, *d.Spec.Replicas
		return s.ObservedGeneration >= generation && s.UpdatedReplicas == n && s.Replicas == n && s.AvailableReplicas == n &&
			condition(d, appsv1.DeploymentProgressing).Reason == "NewReplicaSetAvailable"
	})
}

func condition(d *appsv1.Deployment, t appsv1.DeploymentConditionType) appsv1.DeploymentCondition {
	for _, c := range d.Status.Conditions {
		if c.Type == t {
			return c
		}
	}
	return appsv1.DeploymentCondition{}
}

// byImage counts pods that aren't being deleted.
func byImage(pods []*corev1.Pod) map[string]int {
	n := map[string]int{}
	for _, p := range pods {
		if p.DeletionTimestamp == nil {
			n[p.Spec.Containers[0].Image]++
		}
	}
	return n
}

// bounds has a fault reported when there are more pods than most, or fewer are ready than least once so many were.
func (r rig) bounds(least, most int) {
	var mu sync.Mutex
	full := false
	r.pods.Always(func(pods []*corev1.Pod) {
		mu.Lock()
		defer mu.Unlock()
		there, ready := 0, 0
		for _, p := range pods {
			if p.DeletionTimestamp != nil {
				continue
			}
			there++
			if len(p.Status.Conditions) > 0 && p.Status.Phase == corev1.PodRunning {
				ready++
			}
		}
		if there > most {
			r.T.Errorf("%d pods, and at most %d are allowed", there, most)
		}
		if full = full || ready >= least; full && ready < least {
			r.T.Errorf("%d pods are ready, and %d have to be", ready, least)
		}
	})
}

func TestRollingUpdate(t *testing.T) {
	r := newRig(t)
	r.bounds(3, 5)
	d := controltest.Create(r.World, newDeployment("i:1"))
	d = r.done(d.Generation)
	require.Equal(t, "1", d.Annotations[revision])
	require.Equal(t, corev1.ConditionTrue, condition(d, appsv1.DeploymentAvailable).Status)
	first := r.sets.Until(func(s []*appsv1.ReplicaSet) bool { return len(s) == 1 })[0]
	hash := first.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
	require.Equal(t, "d-"+hash, first.Name)
	require.Equal(t, hash, first.Spec.Selector.MatchLabels[appsv1.DefaultDeploymentUniqueLabelKey])

	r.done(r.image("i:2").Generation)
	require.Equal(t, map[string]int{"i:2": 4}, byImage(r.pods.Until(func(p []*corev1.Pod) bool { return len(p) == 4 })))
	d = r.deployments.One("d", func(d *appsv1.Deployment) bool { return d.Annotations[revision] == "2" })
	require.Zero(t, d.Status.UnavailableReplicas)

	// A broken one gets as far as its share, and no further.
	r.image("broken:1")
	r.pods.Until(func(p []*corev1.Pod) bool { n := byImage(p); return n["i:2"] == 3 && n["broken:1"] == 2 })
	r.deployments.One("d", func(d *appsv1.Deployment) bool {
		return d.Status.UpdatedReplicas == 2 && d.Status.AvailableReplicas == 3
	})
	r.done(r.image("i:2").Generation)
	require.Equal(t, map[string]int{"i:2": 4}, byImage(r.pods.Until(func(p []*corev1.Pod) bool { return len(p) == 4 })))
}

func TestRecreate(t *testing.T) {
	r := newRig(t)
	d := newDeployment("i:1")
	d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
	r.done(controltest.Create(r.World, d).Generation)
	r.pods.Always(func(pods []*corev1.Pod) {
		if len(byImage(pods)) > 1 {
			t.Error("old and new pods at a time")
		}
		for _, p := range pods { // those that are ending count, too
			if p.Spec.Containers[0].Image != pods[0].Spec.Containers[0].Image {
				t.Error("a new pod beside an old one")
			}
		}
	})
	r.done(r.image("i:2").Generation)
	require.Equal(t, map[string]int{"i:2": 4}, byImage(r.pods.Until(func(p []*corev1.Pod) bool { return len(p) == 4 })))
}

func TestRollback(t *testing.T) {
	r := newRig(t)
	d := newDeployment("i:1")
	d.Spec.RevisionHistoryLimit = ptr.To[int32](1)
	r.done(controltest.Create(r.World, d).Generation)
	first := r.sets.Until(func(s []*appsv1.ReplicaSet) bool { return len(s) == 1 })[0]
	r.done(r.image("i:2").Generation)
	r.done(r.image("i:1").Generation) // what kubectl rollout undo does
	r.deployments.One("d", func(d *appsv1.Deployment) bool { return d.Annotations[revision] == "3" })
	again := r.sets.One(first.Name, func(s *appsv1.ReplicaSet) bool { return s.Annotations[revision] == "3" })
	require.Equal(t, first.UID, again.UID)
	require.Equal(t, "1", again.Annotations["deployment.kubernetes.io/revision-history"])
	r.sets.RequireMade(2)

	r.done(r.image("i:3").Generation)
	r.sets.Until(func(sets []*appsv1.ReplicaSet) bool { // that of revision 2 is forgotten
		return len(sets) == 2 && !slices.ContainsFunc(sets, func(s *appsv1.ReplicaSet) bool { return s.Annotations[revision] == "2" })
	})
}

func TestPaused(t *testing.T) {
	r := newRig(t)
	r.done(controltest.Create(r.World, newDeployment("i:1")).Generation)
	r.set(map[string]any{"paused": true})
	r.image("i:2")
	paused := r.set(map[string]any{"replicas": 6})
	r.deployments.One("d", func(d *appsv1.Deployment) bool {
		return d.Status.ObservedGeneration == paused.Generation && d.Status.AvailableReplicas == 6 &&
			condition(d, appsv1.DeploymentProgressing).Reason == "DeploymentPaused"
	})
	r.sets.RequireMade(1)
	r.done(r.set(map[string]any{"paused": false}).Generation)
	require.Equal(t, map[string]int{"i:2": 6}, byImage(r.pods.Until(func(p []*corev1.Pod) bool { return len(p) == 6 })))
}

func TestProgressDeadline(t *testing.T) {
	r := newRig(t)
	d := newDeployment("i:1")
	d.Spec.ProgressDeadlineSeconds = ptr.To[int32](60)
	r.done(controltest.Create(r.World, d).Generation)
	r.image("broken:1")
	r.deployments.One("d", func(d *appsv1.Deployment) bool {
		return d.Status.UpdatedReplicas == 2 && d.Status.Replicas == 5 && condition(d, appsv1.DeploymentProgressing).Status == corev1.ConditionTrue
	})
	r.deployments.After(61*time.Second, func(d []*appsv1.Deployment) bool {
		c := condition(d[0], appsv1.DeploymentProgressing)
		return c.Status == corev1.ConditionFalse && c.Reason == "ProgressDeadlineExceeded"
	})
	r.done(r.image("i:2").Generation)
}

// The name of the next set is taken by a set of nobody that doesn't match.
func TestCollision(t *testing.T) {
	r := newRig(t)
	r.done(controltest.Create(r.World, newDeployment("i:1")).Generation)
	first := r.sets.Until(func(s []*appsv1.ReplicaSet) bool { return len(s) == 1 })[0]
	controltest.Delete[*appsv1.Deployment](r.World, "d")
	r.deployments.Until(func(d []*appsv1.Deployment) bool { return len(d) == 0 })
	d := r.done(controltest.Create(r.World, newDeployment("i:1")).Generation)
	require.Equal(t, int32(1), *d.Status.CollisionCount)
	second := r.sets.Until(func(s []*appsv1.ReplicaSet) bool { return len(s) == 2 })
	require.True(t, slices.ContainsFunc(second, func(s *appsv1.ReplicaSet) bool { return s.UID == first.UID && s.Name == first.Name }))
}

// Whatever is done at random, it ends with what is wanted.
func TestChurn(t *testing.T) {
	r := newRig(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	r.Flow()
	r.bounds(0, 5)
	d := controltest.Create(r.World, newDeployment("i:0"))
	for n := range 30 {
		if n == 10 || n == 20 {
			r.pods.Always(nil) // a create whose answer is lost is done again; what is too much goes
			r.Server.CutConnections()
			require.NoError(t, r.Server.Compact(t.Context()))
		}
		switch random.IntN(4) {
		case 0, 1:
			r.image("i:" + strconv.Itoa(random.IntN(4)))
		case 2:
			if pods := r.pods.Until(func([]*corev1.Pod) bool { return true }); len(pods) > 0 {
				r.Kill(pods[random.IntN(len(pods))])
			}
		case 3:
			now := r.image("i:" + strconv.Itoa(random.IntN(4)))
			r.deployments.One("d", func(d *appsv1.Deployment) bool { return d.Status.ObservedGeneration >= now.Generation })
		}
	}
	last := r.image("i:9")
	r.done(last.Generation)
	pods := r.pods.Until(func(p []*corev1.Pod) bool { return len(p) == 4 })
	require.Equal(t, map[string]int{"i:9": 4}, byImage(pods))
	require.Equal(t, d.UID, last.UID)
}
