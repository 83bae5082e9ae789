package deployment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/kube"
)

// advance does what is allowed next.
func (c *controller) advance(ctx context.Context, r *rollout) error {
	if r.d.Spec.Paused {
		return c.resize(ctx, r)
	}
	if r.now == nil {
		if made, err := c.create(ctx, r); !made || err != nil {
			return err
		}
	}
	if set := r.now.DeepCopy(); r.annotate(set) {
		written, err := c.sets.Update(ctx, set)
		if err != nil {
			return kube.UnlessBehind(err)
		}
		r.now = written
	}
	var err error
	if r.d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		err = c.recreate(ctx, r)
	} else {
		err = errors.Join(c.grow(ctx, r), c.shrink(ctx, r))
	}
	return errors.Join(err, c.forget(ctx, r))
}

// create makes the set of the present template. It reports false when the cache is behind, or the name is somebody
// else's: then the collision is counted, and the next step takes another name.
func (c *controller) create(ctx context.Context, r *rollout) (bool, error) {
	set := r.newSet()
	made, err := c.sets.Create(ctx, set)
	if apierrors.IsAlreadyExists(err) {
		there, err := c.sets.Get(ctx, listwatch.KeyOf(set))
		if err == nil && !metav1.IsControlledBy(there, r.d) {
			r.collisions = ptr.To(ptr.Deref(r.collisions, 0) + 1)
		}
		return false, kube.UnlessBehind(err)
	}
	if kube.Ending(err) {
		return false, nil
	}
	if err != nil {
		_ = c.events.Event(ctx, r.d, corev1.EventTypeWarning, "ReplicaSetCreateError", err.Error())
		return false, err
	}
	c.logger.InfoContext(ctx, "created replicaset", "replicaset", listwatch.KeyOf(made), "deployment", r.d.Name)
	r.now = made
	return true, nil
}

// scale makes a set as large as it shall be.
func (c *controller) scale(ctx context.Context, r *rollout, s *appsv1.ReplicaSet, to int32) (*appsv1.ReplicaSet, error) {
	from := size(s)
	if from == to {
		return s, nil
	}
	changed := s.DeepCopy()
	changed.Spec.Replicas = &to
	written, err := c.sets.Update(ctx, changed)
	if err != nil {
		return s, kube.UnlessBehind(err)
	}
	way := "up"
	if to < from {
		way = "down"
	}
	c.logger.InfoContext(ctx, "scaled replicaset", "replicaset", listwatch.KeyOf(s), "deployment", r.d.Name, "from", from, "to", to)
	_ = c.events.Event(ctx, r.d, corev1.EventTypeNormal, "ScalingReplicaSet",
		fmt.Sprintf("Scaled %s replica set %s from %d to %d", way, s.Name, from, to))
	return written, nil
}

// grow makes the present set larger by what the surge leaves room for, or as small as is wanted.
func (c *controller) grow(ctx context.Context, r *rollout) (err error) {
	to, others, known := r.replicas, int32(0), true
	for _, s := range r.old {
		n, seen := most(s)
		others, known = others+n, known && seen
	}
	if size(r.now) < to && (others > 0 || !known) {
		there, seen := most(r.now)
		if !known || !seen {
			return nil // a controller is about to tell
		}
		to = min(to, size(r.now)+max(r.replicas+r.surge-others-there, 0))
	}
	r.now, err = c.scale(ctx, r, r.now, to)
	return err
}

// shrink makes older sets smaller: by pods that aren't available anyway, and by as many others as can be missed.
func (c *controller) shrink(ctx context.Context, r *rollout) error {
	total, available := size(r.now), up(r.now)
	for _, s := range r.old {
		total, available = total+size(s), available+up(s)
	}
	least := r.replicas - r.missing
	// Those of the new set that aren't available are not counted on: they may never come to be.
	idle, spare := total-least-(size(r.now)-up(r.now)), available-least
	var errs []error
	for n, s := range r.old {
		useless, useful := int32(0), int32(0)
		if _, known := most(s); known {
			useless = max(min(size(s)-up(s), idle), 0)
		}
		useful = max(min(size(s)-useless, spare, idle-useless), 0)
		written, err := c.scale(ctx, r, s, size(s)-useless-useful)
		errs = append(errs, err)
		r.old[n] = written
		idle, spare = idle-useless-useful, spare-useful
	}
	return errors.Join(errs...)
}

// up is how many pods of a set are available, those that it shall not have any more left out.
func up(s *appsv1.ReplicaSet) int32 { return min(s.Status.AvailableReplicas, size(s)) }

// recreate ends all old pods, and begins with the new ones when none is left.
func (c *controller) recreate(ctx context.Context, r *rollout) (err error) {
	left := false
	for n, s := range r.old {
		if r.old[n], err = c.scale(ctx, r, s, 0); err != nil {
			return err
		}
		there, known := most(r.old[n])
		left = left || there > 0 || !known || slices.ContainsFunc(c.ofSet.Get(s.UID), func(p *corev1.Pod) bool {
			return p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed
		})
	}
	if !left {
		r.now, err = c.scale(ctx, r, r.now, r.replicas)
	}
	return err
}

// resize gives a paused deployment as many pods as it wants, by its present set, or else by its newest.
func (c *controller) resize(ctx context.Context, r *rollout) error {
	target, others := r.now, int32(0)
	for n := len(r.old) - 1; n >= 0; n-- {
		if target == nil && size(r.old[n]) > 0 {
			target = r.old[n]
			continue
		}
		others += size(r.old[n])
	}
	if target == nil {
		return nil
	}
	_, err := c.scale(ctx, r, target, max(r.replicas-others, 0))
	return err
}

// forget deletes the old sets that are more than are to be kept, none that has or shall have pods.
func (c *controller) forget(ctx context.Context, r *rollout) error {
	empty := slices.DeleteFunc(slices.Clone(r.old), func(s *appsv1.ReplicaSet) bool {
		there, known := most(s)
		return !known || there > 0
	})
	slices.SortFunc(empty, func(a, b *appsv1.ReplicaSet) int { return cmp.Compare(revisionOf(a), revisionOf(b)) })
	var errs []error
	for _, s := range empty[:max(len(empty)-int(ptr.Deref(r.d.Spec.RevisionHistoryLimit, 10)), 0)] {
		err := c.sets.Delete(ctx, s, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &s.UID, ResourceVersion: &s.ResourceVersion}})
		errs = append(errs, kube.UnlessBehind(err))
	}
	return errors.Join(errs...)
}
