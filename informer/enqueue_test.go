package informer_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

// drain returns what is ready in the queue.
func drain[K comparable](t *testing.T, q *workqueue.Queue[K]) (keys []K) {
	for q.Len() > 0 {
		k, err := q.Get(t.Context())
		require.NoError(t, err)
		q.Done(k)
		keys = append(keys, k)
	}
	return keys
}

func TestEnqueueOwnKeys(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, newServer(fakes.Options[*object]{}), informer.Options{})
		q := workqueue.New[listwatch.Key](workqueue.Options{})
		reg, err := informer.Enqueue(t.Context(), r.pods, q)
		require.NoError(t, err)
		r.put("a", "1")
		r.start().sync()
		require.Equal(t, []listwatch.Key{key("a")}, drain(t, q))
		r.put("a", "2")
		r.put("b", "1")
		r.drop("b")
		synctest.Wait()
		require.Equal(t, []listwatch.Key{key("a"), key("b")}, drain(t, q), "a deleted key is queued, too")
		reg.Remove()
		q.Close()
	})
}

func TestEnqueueOwnersOldAndNew(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, newServer(fakes.Options[*object]{}), informer.Options{})
		q := workqueue.New[string](workqueue.Options{})
		owner := func(o *object) []string {
			if o.Value == "" {
				return nil
			}
			return []string{o.Value}
		}
		_, err := informer.EnqueueOf(t.Context(), r.pods, q, owner)
		require.NoError(t, err)
		r.start().sync()
		r.put("a", "x")
		r.sync()
		require.Equal(t, []string{"x"}, drain(t, q))
		r.put("a", "y")
		r.sync()
		require.Equal(t, []string{"x", "y"}, drain(t, q))
		r.put("a", "")
		r.sync()
		require.Equal(t, []string{"y"}, drain(t, q))
		r.put("a", "z")
		r.drop("a")
		r.sync()
		require.Equal(t, []string{"z"}, drain(t, q))
		q.Close()
	})
}

func TestEnqueueRefusesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, newServer(fakes.Options[*object]{}), informer.Options{})
	_, err := informer.Enqueue(t.Context(), r.pods, nil)
	require.ErrorContains(t, err, "informer pods: handler enqueue: no function")
	_, err = informer.EnqueueOf[*object, string](t.Context(), r.pods, nil, func(*object) []string { return nil })
	require.ErrorContains(t, err, "no function")
	_, err = informer.EnqueueOf[*object](t.Context(), r.pods, workqueue.New[string](workqueue.Options{}), nil)
	require.ErrorContains(t, err, "no function")
	_, err = informer.Of[*object](new(informer.Factory), "", r.server)
	require.ErrorContains(t, err, "needs a name")
	require.Equal(t, "Coalesce EveryEvent Policy(7)", fmt.Sprint(informer.Coalesce, " ", informer.EveryEvent, " ", informer.Policy(7)))
}

// Scenario 79: a step that has waited for its own write sees what became of the object.
func TestStepAfterItsOwnWrite(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, newServer(fakes.Options[*object]{}), informer.Options{})
		r.put("o", "1")
		q := workqueue.New[listwatch.Key](workqueue.Options{})
		_, err := informer.Enqueue(t.Context(), r.pods, q)
		require.NoError(t, err)
		var saw []string
		ended := make(chan error, 1)
		go func() {
			ended <- workqueue.Process(t.Context(), q, 1, func(_ context.Context, k listwatch.Key) (workqueue.Result, error) {
				held, ok := r.Indexer().Get(k)
				if !ok {
					saw = append(saw, "nothing")
					return workqueue.Result{Await: r.Reached(r.put("o", "3").ResourceVersion)}, nil
				}
				if saw = append(saw, held.Value); held.Value != "1" {
					return workqueue.Result{}, nil
				}
				r.server.Pause() // the step returns before the cache has its write
				written := r.put("o", "2")
				r.drop("o")
				time.AfterFunc(time.Second, r.server.Resume)
				return workqueue.Result{Await: r.Reached(written.ResourceVersion)}, nil
			})
		}()
		r.start()
		time.Sleep(10 * time.Second) // less than a key stays parked without its signal
		r.sync()
		require.Equal(t, []string{"1", "nothing", "3"}, slices.Compact(saw))
		q.Close()
		require.NoError(t, <-ended)
	})
}
