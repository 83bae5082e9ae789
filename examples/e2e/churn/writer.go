package churn

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// Writer creates, changes and deletes objects. All methods are safe for concurrent use.
type Writer struct {
	// Client sends the requests.
	Client dynamic.Interface
	// Names is how many names there are for each kind in each namespace.
	Names int
	// Seed is where chance begins.
	Seed uint64

	// Creates, Updates, Deletes and Failed count requests. Failed ones are those that no server
	// answered, or that it was not able to.
	Creates, Updates, Deletes, Failed atomic.Int64

	rounds atomic.Uint64
}

// Writes returns how many writes have succeeded.
func (w *Writer) Writes() int64 { return w.Creates.Load() + w.Updates.Load() + w.Deletes.Load() }

// Run writes to the kinds with a number of workers until limit further writes have succeeded or
// ctx is done, and returns when the last write has ended.
func (w *Writer) Run(ctx context.Context, workers int, limit int64, kinds ...*Kind) {
	end := w.Writes() + limit
	var all sync.WaitGroup
	for range workers {
		r := rand.New(rand.NewPCG(w.Seed, w.rounds.Add(1)))
		all.Go(func() {
			for ctx.Err() == nil && w.Writes() < end {
				w.write(ctx, r, kinds[r.IntN(len(kinds))])
			}
		})
	}
	all.Wait()
}

// write does one thing to one object. What the server refuses is no failure: another worker may
// have been there first.
func (w *Writer) write(ctx context.Context, r *rand.Rand, k *Kind) {
	namespace, name := Namespaces[r.IntN(len(Namespaces))], fmt.Sprintf("o-%d", r.IntN(w.Names))
	client := w.in(k, namespace)
	switch n := r.IntN(20); {
	case n < 6:
		w.create(ctx, client, k.object(r, namespace, name))
	case n < 15:
		w.patch(ctx, client, name, map[string]any{"labels": label(r), "annotations": map[string]any{"v": text(r)}})
	case n < 17:
		w.delete(ctx, client, name)
	case n < 19: // another identity under the same name, at once
		w.delete(ctx, client, name)
		w.create(ctx, client, k.object(r, namespace, name))
	default: // a deletion in two steps
		w.patch(ctx, client, name, map[string]any{"finalizers": []any{Group + "/slow"}})
		w.delete(ctx, client, name)
		w.patch(ctx, client, name, map[string]any{"finalizers": nil})
	}
}

func (w *Writer) in(k *Kind, namespace string) dynamic.ResourceInterface {
	if k.Cluster {
		return w.Client.Resource(k.Resource)
	}
	return w.Client.Resource(k.Resource).Namespace(namespace)
}

func (w *Writer) create(ctx context.Context, c dynamic.ResourceInterface, object map[string]any) {
	_, err := c.Create(ctx, &unstructured.Unstructured{Object: object}, metav1.CreateOptions{})
	w.count(ctx, &w.Creates, err)
}

func (w *Writer) patch(ctx context.Context, c dynamic.ResourceInterface, name string, metadata map[string]any) {
	body, err := json.Marshal(map[string]any{"metadata": metadata})
	if err == nil {
		_, err = c.Patch(ctx, name, types.MergePatchType, body, metav1.PatchOptions{})
	}
	w.count(ctx, &w.Updates, err)
}

func (w *Writer) delete(ctx context.Context, c dynamic.ResourceInterface, name string) {
	w.count(ctx, &w.Deletes, c.Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
}

func (w *Writer) count(ctx context.Context, counter *atomic.Int64, err error) {
	switch {
	case err == nil:
		counter.Add(1)
	case apierrors.IsNotFound(err), apierrors.IsAlreadyExists(err), apierrors.IsConflict(err), apierrors.IsInvalid(err):
	case ctx.Err() == nil:
		w.Failed.Add(1)
		select { // an outage
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// FenceName is the name of the object by which [Writer.Fence] says that all is written, and
// FenceAnnotation the annotation that has its number.
const (
	FenceName       = "fence"
	FenceAnnotation = Group + "/fence"
)

// Fence writes the number n into one object of the kind for each namespace. Who has seen it in
// all of them has seen whatever was written before.
func (w *Writer) Fence(ctx context.Context, k *Kind, n int64) error {
	namespaces := Namespaces
	if k.Cluster {
		namespaces = []string{""}
	}
	for _, namespace := range namespaces {
		o := k.object(rand.New(rand.NewPCG(0, 0)), namespace, FenceName) // always the same one
		meta := o["metadata"].(map[string]any)
		meta["labels"] = map[string]any{"app": "x"}
		meta["annotations"] = map[string]any{FenceAnnotation: fmt.Sprint(n)}
		if spec, ok := o["spec"].(map[string]any); ok && k == Pods {
			spec["nodeName"] = Node
		}
		_, err := w.in(k, namespace).Apply(ctx, FenceName, &unstructured.Unstructured{Object: o},
			metav1.ApplyOptions{FieldManager: "fence", Force: true})
		if err != nil {
			return fmt.Errorf("fence of %s: %w", k.Resource.Resource, err)
		}
	}
	return nil
}
