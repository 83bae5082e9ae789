package deployment

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/utils/dump"
	"k8s.io/utils/ptr"
)

// Annotations that kubectl rollout reads.
const (
	revisionAnnotation = "deployment.kubernetes.io/revision"
	historyAnnotation  = "deployment.kubernetes.io/revision-history"
)

// rollout is a deployment with its sets. Nothing of it may be changed but collisions.
type rollout struct {
	d *appsv1.Deployment
	// now is the set of the present template; nil: there is none yet.
	now *appsv1.ReplicaSet
	// old are the others, the elder first.
	old []*appsv1.ReplicaSet
	// replicas are how many pods are wanted, surge and missing by how many there may be more, or less available.
	replicas, surge, missing int32
	// collisions counts how often the name of the new set was somebody else's.
	collisions *int32
}

func newRollout(d *appsv1.Deployment, sets []*appsv1.ReplicaSet) *rollout {
	r := &rollout{d: d, replicas: ptr.Deref(d.Spec.Replicas, 1), collisions: d.Status.CollisionCount}
	slices.SortFunc(sets, func(a, b *appsv1.ReplicaSet) int {
		if byAge := a.CreationTimestamp.Compare(b.CreationTimestamp.Time); byAge != 0 {
			return byAge
		}
		return revisionOf(a) - revisionOf(b)
	})
	for _, s := range sets {
		switch {
		case s.DeletionTimestamp != nil:
		case r.now == nil && equality.Semantic.DeepEqual(bare(s.Spec.Template), bare(d.Spec.Template)):
			r.now = s
		default:
			r.old = append(r.old, s)
		}
	}
	if u := d.Spec.Strategy.RollingUpdate; u != nil && d.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType {
		r.surge, r.missing = share(u.MaxSurge, r.replicas, true), share(u.MaxUnavailable, r.replicas, false)
		if r.surge == 0 && r.missing == 0 {
			r.missing = 1 // or nothing could move
		}
	}
	return r
}

// share is how many of so many a number or a percentage means. One that can't be read means none.
func share(s *intstr.IntOrString, of int32, up bool) int32 {
	n, err := intstr.GetScaledValueFromIntOrPercent(ptr.To(ptr.Deref(s, intstr.FromInt32(0))), int(of), up)
	if err != nil {
		return 0
	}
	return int32(n)
}

// bare is a template without the label that tells sets apart.
func bare(t corev1.PodTemplateSpec) *corev1.PodTemplateSpec {
	t = *t.DeepCopy()
	delete(t.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
	return &t
}

// hash is a short word for a template, the same whenever it is asked.
func hash(t corev1.PodTemplateSpec, collisions *int32) string {
	h := fnv.New32a()
	fmt.Fprintf(h, "%s%d", dump.ForHash(t), ptr.Deref(collisions, 0))
	return rand.SafeEncodeString(strconv.FormatUint(uint64(h.Sum32()), 10))
}

// revisionOf returns which revision of its deployment a set is; 0: it doesn't say.
func revisionOf(s *appsv1.ReplicaSet) int {
	n, _ := strconv.Atoi(s.Annotations[revisionAnnotation])
	return n
}

// revision is that of the present template, or "".
func (r *rollout) revision() string {
	if r.now == nil {
		return ""
	}
	return r.now.Annotations[revisionAnnotation]
}

// next is the revision that the set of the present template is to have.
func (r *rollout) next() int {
	highest := 0
	for _, s := range r.old {
		highest = max(highest, revisionOf(s))
	}
	if r.now != nil && revisionOf(r.now) > highest {
		return revisionOf(r.now)
	}
	return highest + 1
}

// newSet returns the set of the present template, without pods.
func (r *rollout) newSet() *appsv1.ReplicaSet {
	word := hash(r.d.Spec.Template, r.collisions)
	template := r.d.Spec.Template.DeepCopy()
	selector := r.d.Spec.Selector.DeepCopy()
	template.Labels = with(template.Labels, appsv1.DefaultDeploymentUniqueLabelKey, word)
	selector.MatchLabels = with(selector.MatchLabels, appsv1.DefaultDeploymentUniqueLabelKey, word)
	set := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: r.d.Namespace, Name: r.d.Name + "-" + word, Labels: template.Labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(r.d, kind)},
		},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: ptr.To[int32](0), MinReadySeconds: r.d.Spec.MinReadySeconds, Selector: selector, Template: *template,
		},
	}
	r.annotate(set)
	return set
}

// annotate writes into the set of the present template what belongs there. It reports whether that is a change.
func (r *rollout) annotate(s *appsv1.ReplicaSet) (changed bool) {
	wanted := map[string]string{revisionAnnotation: strconv.Itoa(r.next())}
	if before := revisionOf(s); before != 0 && before != r.next() {
		history := s.Annotations[historyAnnotation]
		if history != "" {
			history += ","
		}
		wanted[historyAnnotation] = history + strconv.Itoa(before)
	}
	for name, value := range r.d.Annotations {
		if name != revisionAnnotation && name != corev1.LastAppliedConfigAnnotation {
			wanted[name] = value
		}
	}
	for name, value := range wanted {
		if s.Annotations[name] != value {
			s.Annotations, changed = with(s.Annotations, name, value), true
		}
	}
	if s.Spec.MinReadySeconds != r.d.Spec.MinReadySeconds {
		s.Spec.MinReadySeconds, changed = r.d.Spec.MinReadySeconds, true
	}
	return changed
}

// with returns a map with one more entry, which it may write into.
func with(m map[string]string, name, value string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	m[name] = value
	return m
}

// size is how many pods a set shall have.
func size(s *appsv1.ReplicaSet) int32 {
	if s == nil {
		return 0
	}
	return ptr.Deref(s.Spec.Replicas, 1)
}

// most is how many pods a set can have at present: its controller may not have seen yet that it shall have less.
// It reports false when that is not known.
func most(s *appsv1.ReplicaSet) (int32, bool) {
	fresh := s.Generation == 1 // and what it was made with is all that it can have
	return max(size(s), s.Status.Replicas), fresh || s.Status.ObservedGeneration >= s.Generation
}
