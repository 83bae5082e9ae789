package kube

import (
	"context"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/benbjohnson/clock"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seed3bce33ad/listwatch"
)

// Recorder tells users about objects, by Events that kubectl describe shows. Make one with [NewRecorder].
type Recorder struct {
	cluster   *Cluster
	component string
	clock     clock.Clock
}

// NewRecorder returns a recorder of a component, such as "scheduler".
func NewRecorder(c *Cluster, component string, clock clock.Clock) *Recorder {
	return &Recorder{c, component, clock}
}

// Event says something about an object. kind is [corev1.EventTypeNormal] or [corev1.EventTypeWarning], reason a word
// that programs may look for, message a sentence for people. The same words about the same object count up in one Event.
// It blocks for one to three requests; its error is none of the object's and may be dropped.
func (r *Recorder) Event(ctx context.Context, about Object, kind, reason, message string) error {
	to := r.cluster.resourceOf(about)
	return r.EventOf(ctx, &corev1.ObjectReference{
		Kind: to.Kind, APIVersion: to.GroupVersion().String(), Namespace: about.GetNamespace(), Name: about.GetName(),
		UID: about.GetUID(), ResourceVersion: about.GetResourceVersion(),
	}, kind, reason, message)
}

// EventOf is [Recorder.Event] of an object of any kind.
func (r *Recorder) EventOf(ctx context.Context, about *corev1.ObjectReference, kind, reason, message string) error {
	now := metav1.NewTime(r.clock.Now().Truncate(time.Second))
	namespace := about.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	words := fnv.New64a()
	fmt.Fprintf(words, "%s\x00%s\x00%s\x00%s\x00%s", about.UID, r.component, kind, reason, message)
	e := &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("%s.%016x", about.Name, words.Sum64())},
		InvolvedObject: *about,
		Type:           kind, Reason: reason, Message: message, Source: corev1.EventSource{Component: r.component},
		ReportingController: r.component, FirstTimestamp: now, LastTimestamp: now, Count: 1,
	}
	events := For[*corev1.Event](r.cluster)
	_, err := events.Create(ctx, e)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	// Components may write Events and not read them, so a write tells how often it was said.
	k := listwatch.Key{Namespace: e.Namespace, Name: e.Name}
	told, err := events.Patch(ctx, k, Patch{Body: map[string]any{"lastTimestamp": now}})
	if err != nil {
		return err
	}
	_, err = events.Patch(ctx, k, Patch{Body: map[string]any{
		"metadata": map[string]any{"resourceVersion": told.ResourceVersion}, "count": told.Count + 1}})
	return err
}
