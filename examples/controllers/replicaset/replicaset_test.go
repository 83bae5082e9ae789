package replicaset_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/seed3bce33ad/listwatch/examples/controllers/controltest"
	"github.com/seed3bce33ad/listwatch/examples/controllers/replicaset"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var web = map[string]string{"app": "web"}

func template(labels map[string]string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i:1"}}},
	}
}

func replicaSet(name string, replicas int32) *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       appsv1.ReplicaSetSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: web}, Template: template(web)},
	}
}

func pod(name string, labels map[string]string) *corev1.Pod {
	t := template(labels)
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Spec: t.Spec}
}

// active counts the pods that a set has and that aren't being deleted.
func active(of metav1.Object, pods []*corev1.Pod) (n int) {
	for _, p := range pods {
		if metav1.IsControlledBy(p, of) && p.DeletionTimestamp == nil {
			n++
		}
	}
	return n
}

// has returns a condition for View.Until.
func has(of metav1.Object, n int) func([]*corev1.Pod) bool {
	return func(pods []*corev1.Pod) bool { return active(of, pods) == n }
}

func scale(w *controltest.World, name string, to int) *appsv1.ReplicaSet {
	return controltest.Merge[*appsv1.ReplicaSet](w, name, "", map[string]any{"spec": map[string]any{"replicas": to}})
}

func TestReplicas(t *testing.T) {
	w := controltest.New(t, replicaset.New, replicaset.NewReplicationController)
	w.Kubelet(controltest.Ready)
	pods, sets := controltest.Watch[*corev1.Pod](w), controltest.Watch[*appsv1.ReplicaSet](w)
	set := controltest.Create(w, replicaSet("a", 3))
	made := pods.Until(has(set, 3))
	for _, p := range made {
		require.Equal(t, web, p.Labels)
		require.Equal(t, "a-", p.GenerateName)
		require.True(t, *metav1.GetControllerOf(p).BlockOwnerDeletion)
	}
	sets.One("a", func(s *appsv1.ReplicaSet) bool { return s.Status.ReadyReplicas == 3 })

	controltest.Delete[*corev1.Pod](w, made[0].Name)
	pods.Until(func(pods []*corev1.Pod) bool {
		return active(set, pods) == 3 && len(pods) == 3 && pods[0].UID != made[0].UID
	})
	scale(w, "a", 5)
	pods.Until(has(set, 5))
	scale(w, "a", 1)
	pods.Until(has(set, 1))
	s := sets.One("a", func(s *appsv1.ReplicaSet) bool { return s.Status.ObservedGeneration == 3 && s.Status.Replicas == 1 })
	require.Equal(t, int32(1), s.Status.FullyLabeledReplicas)
	pods.RequireMade(6)

	// A controller of the elder kind.
	rc := controltest.Create(w, &corev1.ReplicationController{
		ObjectMeta: metav1.ObjectMeta{Name: "r"},
		Spec:       corev1.ReplicationControllerSpec{Replicas: ptr.To[int32](2), Template: ptr.To(template(map[string]string{"app": "rc"}))},
	})
	pods.Until(has(rc, 2))
	controllers := controltest.Watch[*corev1.ReplicationController](w)
	controllers.One("r", func(r *corev1.ReplicationController) bool {
		return r.Status.AvailableReplicas == 2 && r.Status.ObservedGeneration == 1
	})
}

// Wanted are three; the informer of pods comes to see them six minutes after they were made, and meanwhile four are wanted.
func TestInformerIsLate(t *testing.T) {
	w := controltest.New(t, replicaset.New)
	pods, sets := controltest.Watch[*corev1.Pod](w), controltest.Watch[*appsv1.ReplicaSet](w)
	sentinel := controltest.Create(w, replicaSet("a", 1))
	pods.Until(has(sentinel, 1))
	w.Late.Hold()
	scale(w, "a", 3)
	pods.Until(has(sentinel, 3))
	w.Clock.Add(6 * time.Minute)
	// That one more is made tells that a step has been, and what it has seen.
	scale(w, "a", 4)
	pods.Until(has(sentinel, 4))
	w.Clock.Add(6 * time.Minute)
	// Two of those that it has never seen are too many now, and go.
	scale(w, "a", 2)
	sets.One("a", func(s *appsv1.ReplicaSet) bool { return s.Status.ObservedGeneration == 4 && s.Status.Replicas == 2 })
	pods.Until(has(sentinel, 2))
	pods.RequireMade(4)
	w.Late.Release()
	scale(w, "a", 3)
	sets.One("a", func(s *appsv1.ReplicaSet) bool { return s.Status.ObservedGeneration == 5 && s.Status.Replicas == 3 })
	pods.RequireMade(5)
}

// Pods are made and deleted again while the watch is down, and its history is dropped: no event ever tells of them.
func TestPodsComeAndGoUnseen(t *testing.T) {
	w := controltest.New(t, replicaset.New)
	pods := controltest.Watch[*corev1.Pod](w)
	set := controltest.Create(w, replicaSet("a", 1))
	first := pods.Until(has(set, 1))[0]
	w.Late.Hold()
	scale(w, "a", 3)
	for _, p := range pods.Until(has(set, 3)) {
		if p.UID != first.UID {
			controltest.Delete[*corev1.Pod](w, p.Name)
		}
	}
	pods.Until(has(set, 1))
	require.NoError(t, w.Server.Compact(t.Context()))
	w.Server.CutConnections()
	w.Late.Lose()
	pods.Until(has(set, 3))
	pods.RequireMade(5)
}

func TestOrphans(t *testing.T) {
	w := controltest.New(t, replicaset.New)
	pods, sets := controltest.Watch[*corev1.Pod](w), controltest.Watch[*appsv1.ReplicaSet](w)
	controltest.Create(w, pod("other", map[string]string{"app": "other"}))
	orphan := controltest.Create(w, pod("early", web))
	controltest.Seen(w, orphan) // so that none is made in its place
	set := controltest.Create(w, replicaSet("a", 2))
	owns := func(uid any) func([]*corev1.Pod) bool {
		return func(pods []*corev1.Pod) bool {
			for _, p := range pods {
				if p.UID == uid {
					return metav1.IsControlledBy(p, set)
				}
			}
			return false
		}
	}
	pods.Until(owns(orphan.UID))
	sets.One("a", func(s *appsv1.ReplicaSet) bool { return s.Status.Replicas == 2 })
	pods.RequireMade(3)

	controltest.Merge[*corev1.Pod](w, "early", "", map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": "out"}}})
	early := pods.One("early", func(p *corev1.Pod) bool { return len(p.OwnerReferences) == 0 })
	require.Equal(t, orphan.UID, early.UID)
	pods.Until(has(set, 2))
	pods.RequireMade(4)

	late := controltest.Create(w, pod("late", web)) // one too many: taken, and the newest goes
	pods.Until(func(all []*corev1.Pod) bool { return pods.Made() == 5 && active(set, all) == 2 && len(all) == 4 })
	require.NotEmpty(t, late.UID)
}

// A set is deleted and made anew under its name, and leaves orphans to nobody that are not its own.
func TestNameIsUsedAgain(t *testing.T) {
	w := controltest.New(t, replicaset.New)
	pods := controltest.Watch[*corev1.Pod](w)
	before := controltest.Create(w, replicaSet("a", 2))
	pods.Until(has(before, 2))
	controltest.Delete[*appsv1.ReplicaSet](w, "a")
	after := controltest.Create(w, replicaSet("a", 3))
	all := pods.Until(has(after, 3))
	require.Equal(t, 2, active(before, all))
	pods.RequireMade(5)
}

func TestStatus(t *testing.T) {
	w := controltest.New(t, replicaset.New)
	w.Kubelet(controltest.Ready)
	sets, pods := controltest.Watch[*appsv1.ReplicaSet](w), controltest.Watch[*corev1.Pod](w)
	set := replicaSet("a", 2)
	set.Spec.MinReadySeconds = 30
	set.Spec.Template.Labels = map[string]string{"app": "web", "more": "yes"}
	set = controltest.Create(w, set)
	s := sets.One("a", func(s *appsv1.ReplicaSet) bool { return s.Status.ReadyReplicas == 2 })
	require.Equal(t, appsv1.ReplicaSetStatus{Replicas: 2, FullyLabeledReplicas: 2, ReadyReplicas: 2, ObservedGeneration: 1}, s.Status)
	sets.After(31*time.Second, func(s []*appsv1.ReplicaSet) bool { return s[0].Status.AvailableReplicas == 2 })

	one := pods.Until(has(set, 2))[0]
	controltest.Merge[*corev1.Pod](w, one.Name, "", map[string]any{"metadata": map[string]any{"labels": map[string]any{"more": nil}}})
	sets.One("a", func(s *appsv1.ReplicaSet) bool { return s.Status.FullyLabeledReplicas == 1 })
	changed := pods.One(one.Name, func(p *corev1.Pod) bool { return p.Labels["more"] == "" }).DeepCopy()
	controltest.SetReady(w, changed, corev1.ConditionFalse)
	controltest.Merge[*corev1.Pod](w, one.Name, "status", map[string]any{"status": map[string]any{"conditions": changed.Status.Conditions}})
	sets.One("a", func(s *appsv1.ReplicaSet) bool { return s.Status.ReadyReplicas == 1 && s.Status.AvailableReplicas == 1 })
}

// The server refuses the pods that the template makes, until it is told to make others.
func TestCreationFails(t *testing.T) {
	w := controltest.New(t, replicaset.New)
	pods, sets := controltest.Watch[*corev1.Pod](w), controltest.Watch[*appsv1.ReplicaSet](w)
	set := replicaSet("a", 2)
	set.Spec.Template.Finalizers = []string{"not a name"}
	set = controltest.Create(w, set)
	failed := sets.One("a", func(s *appsv1.ReplicaSet) bool { return len(s.Status.Conditions) == 1 })
	require.Equal(t, appsv1.ReplicaSetReplicaFailure, failed.Status.Conditions[0].Type)
	require.Equal(t, "FailedCreate", failed.Status.Conditions[0].Reason)
	require.Zero(t, failed.Status.Replicas)
	controltest.Merge[*appsv1.ReplicaSet](w, "a", "", map[string]any{"spec": map[string]any{"template": map[string]any{
		"metadata": map[string]any{"finalizers": nil},
	}}})
	pods.After(time.Minute, has(set, 2))
	sets.One("a", func(s *appsv1.ReplicaSet) bool { return len(s.Status.Conditions) == 0 && s.Status.Replicas == 2 })
}

// Whatever is done at random, it ends with what is wanted.
func TestChurn(t *testing.T) {
	w := controltest.New(t, replicaset.New)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	w.Flow()
	w.Kubelet(controltest.Ready)
	pods, sets := controltest.Watch[*corev1.Pod](w), controltest.Watch[*appsv1.ReplicaSet](w)
	most := 12 // wanted at most, and what is adopted
	pods.Always(func(pods []*corev1.Pod) {
		if n := len(pods); n > most+30 {
			t.Errorf("%d pods", n)
		}
	})
	set := controltest.Create(w, replicaSet("a", 3))
	for n := range 40 {
		if n == 10 || n == 25 {
			w.Server.CutConnections()
			require.NoError(t, w.Server.Compact(t.Context()))
		}
		there := pods.Until(func([]*corev1.Pod) bool { return true })
		switch k := random.IntN(4); {
		case k == 0:
			scale(w, "a", random.IntN(most))
		case k == 1:
			controltest.Create(w, pod(fmt.Sprintf("orphan-%d", n), web))
		case k == 2 && len(there) > 0:
			w.Kill(there[random.IntN(len(there))])
		case k == 3:
			now := scale(w, "a", random.IntN(most))
			sets.One("a", func(s *appsv1.ReplicaSet) bool { return s.Status.ObservedGeneration >= now.Generation })
		}
	}
	scale(w, "a", 4)
	pods.Until(func(all []*corev1.Pod) bool { return len(all) == 4 && active(set, all) == 4 })
	sets.One("a", func(s *appsv1.ReplicaSet) bool { return s.Status.Replicas == 4 && s.Status.ReadyReplicas == 4 })
}
