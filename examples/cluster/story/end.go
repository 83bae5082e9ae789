package story

import (
	"context"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/kube"
)

func (t *teller) work(ctx context.Context) error {
	if _, err := kube.For[*batchv1.Job](t.Cluster).Create(ctx, sums()); err != nil {
		return err
	}
	return t.until(ctx, "the job is complete", func() bool {
		j, found := t.jobs.Indexer().Get(at("sums"))
		return found && j.Status.Succeeded == 3 && j.Status.CompletionTime != nil
	})
}

func (t *teller) hitQuota(ctx context.Context) error {
	_, err := kube.For[*corev1.ResourceQuota](t.Cluster).Create(ctx, &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "few"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("6")}},
	})
	if err != nil {
		return err
	}
	if err := t.until(ctx, "the quota counts five pods that run", func() bool { return t.used() == 5 }); err != nil {
		return err
	}
	if err := t.resize(ctx, 8); err != nil {
		return err
	}
	if err := t.until(ctx, "the sixth pod is ready, and an event says that the quota forbids a seventh", func() bool {
		refused := in(t.events, func(e *corev1.Event) bool { return strings.Contains(e.Message, "exceeded quota") })
		return len(in(t.pods, web)) == 6 && len(refused) > 0
	}); err != nil {
		return err
	}
	if err := t.resize(ctx, 3); err != nil {
		return err
	}
	return t.until(ctx, "three pods are left, and the quota counts three", func() bool { return t.rolledOut(3) && t.used() == 3 })
}

// used is how many pods the quota counts.
func (t *teller) used() int64 {
	q, found := t.quotas.Indexer().Get(at("few"))
	if !found {
		return -1
	}
	return q.Status.Used.Pods().Value()
}

func (t *teller) deleteAll(ctx context.Context) error {
	key := listwatch.Key{Name: namespace}
	if err := kube.For[*corev1.Namespace](t.Cluster).Delete(ctx, key, metav1.DeleteOptions{}); err != nil {
		return err
	}
	return t.until(ctx, "the namespace is gone, and no pod is left", func() bool {
		_, found := t.namespaces.Indexer().Get(key)
		return !found && len(in(t.pods, func(*corev1.Pod) bool { return true })) == 0
	})
}
