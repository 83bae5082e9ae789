package simulation_test

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/fakes/simulation"
	"github.com/seed3bce33ad/listwatch/indexer"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

// controller keeps as many children as each set asks for in its Value.
type controller struct {
	sets, children *fakes.Source[*fakes.Object]
	names          atomic.Int64
	// careful: a step waits until the cache shows what it has created.
	careful bool
}

// owner returns the key of the set that a child belongs to.
func owner(o *fakes.Object) []listwatch.Key {
	return []listwatch.Key{{Namespace: o.Namespace, Name: o.Labels["set"]}}
}

// run runs the controller until ctx is done.
func (c *controller) run(ctx context.Context) error {
	quiet := informer.Options{Logger: slog.New(slog.DiscardHandler)}
	sets, children := informer.New(c.sets, quiet), informer.New(c.children, quiet)
	byOwner, _ := indexer.AddIndex(children.Indexer(), "owner", owner)
	queue := workqueue.New[listwatch.Key](workqueue.Options{Logger: quiet.Logger})
	defer queue.Close()
	_, _ = informer.Enqueue(ctx, sets, queue)
	_, _ = informer.EnqueueOf(ctx, children, queue, owner)
	ended := make(chan error, 2)
	go func() { ended <- sets.Run(ctx) }()
	go func() { ended <- children.Run(ctx) }()
	defer func() { <-ended; <-ended }()
	for children.WaitForSync(ctx) != nil && ctx.Err() == nil {
	}
	return workqueue.Process(ctx, queue, 2, func(_ context.Context, k listwatch.Key) (r workqueue.Result, err error) {
		set, ok := sets.Indexer().Get(k)
		if !ok {
			return r, nil
		}
		for n := byOwner.Len(k); n < wanted(set); n++ {
			child := &fakes.Object{Labels: map[string]string{"set": k.Name}}
			child.Namespace, child.Name = k.Namespace, k.Name+"-"+strconv.FormatInt(c.names.Add(1), 10)
			made, err := c.children.Create(child)
			if err != nil {
				return r, err
			}
			if c.careful { // without After the queue hands the key out after 30 s, when the cache may be behind
				r = workqueue.Result{Await: children.Reached(made.ResourceVersion), After: time.Hour}
			}
		}
		return r, nil
	})
}

func wanted(set *fakes.Object) int {
	n, _ := strconv.Atoi(set.Value)
	return n
}

// world makes a scenario of the controller: a set, whose children others delete at times.
func world(careful bool) func(w *simulation.World) {
	return func(w *simulation.World) {
		c := &controller{careful: careful}
		c.sets = simulation.Serve(w, "sets", fakes.StampObject, simulation.ServeOptions[*fakes.Object]{NoDeletes: true})
		c.children = simulation.Serve(w, "children", fakes.StampObject, simulation.ServeOptions[*fakes.Object]{})
		set := &fakes.Object{Meta: listwatch.Meta{Namespace: "ns", Name: "web"}, Value: "3"}
		_, _ = c.sets.Create(set)
		w.Start(c.run)
		w.Always("no more children than wanted", func() error {
			if n := len(c.children.Objects()); n > wanted(set) {
				return fmt.Errorf("%d children", n)
			}
			return nil
		})
		w.AtRest("as many children as wanted", func() error {
			if n := len(c.children.Objects()); n != wanted(set) {
				return fmt.Errorf("%d children", n)
			}
			return nil
		})
	}
}

// A controller that counts its children in a cache creates too many when the cache is behind its
// own writes.
func Example() {
	inTest(func(t *testing.T) {
		faults := []fakes.FaultKind{fakes.FaultCut, fakes.FaultHang, fakes.FaultSlow, fakes.FaultFail, fakes.FaultDown}
		found := simulation.Find(t, world(false), simulation.Options{Seed: 1, Faults: faults})
		fmt.Println("broken:", found.Promise)

		found = simulation.Find(t, world(true), simulation.Options{Seed: 1, Faults: faults, Scenarios: 40})
		fmt.Println("broken:", found)
	})
	// Output:
	// broken: no more children than wanted
	// broken: <nil>
}
