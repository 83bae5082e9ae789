package informer_test

import (
	"context"
	"fmt"
	"time"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/indexer"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

// A step that keeps a number of objects sees what it has written itself, though the cache does not
// show it yet. What would be nobody's event, it comes back for.
func ExampleOverlay() {
	ctx, cancel := context.WithCancel(context.Background())
	server := fakes.New(fakes.StampObject, fakes.Options[*fakes.Object]{})
	pods := informer.New[*fakes.Object](server, informer.Options{Name: "pods"})
	byOwner, _ := indexer.AddIndex(pods.Indexer(), "owner", indexer.One(func(o *fakes.Object) string { return o.Value }))
	own := informer.NewOverlay(pods, informer.OverlayOptions{})
	queue := workqueue.New[string](workqueue.Options{})

	step := func(owner string, want int) workqueue.Result {
		if !own.Whole() { // more was written than it keeps
			return workqueue.Result{Await: own.Caught()}
		}
		held := informer.Look(own, byOwner, owner)
		for n := len(held); n < want; n++ {
			pod, err := server.Create(&fakes.Object{Meta: listwatch.Meta{Name: fmt.Sprint(owner, "-", n)}, Value: owner})
			if err != nil {
				return workqueue.Result{After: time.Second}
			}
			own.Wrote(pod)
		}
		fmt.Println(owner, "had", len(held))
		var r workqueue.Result
		if caught := own.Caught(); !caught.Fired() { // also when nothing was written
			r.Await = caught
		}
		return r
	}

	run := make(chan error)
	go func() { run <- pods.Run(ctx) }()
	_ = pods.WaitForSync(ctx)
	server.Pause() // the cache hears nothing for a while
	step("web", 3)
	queue.Add("web")
	key, _ := queue.Get(ctx)
	queue.Finish(key, step(key, 3), nil)
	fmt.Println("the cache has", pods.Indexer().Len())
	server.Resume()
	again, _ := queue.Get(ctx)
	fmt.Println(again, "again, the cache has", pods.Indexer().Len())
	cancel()
	<-run
	// Output:
	// web had 0
	// web had 3
	// the cache has 0
	// web again, the cache has 3
}

func ExampleOverlayOptions() {
	pods, stop := synced(informer.Options{Name: "pods"})
	own := informer.NewOverlay(pods, informer.OverlayOptions{Size: 100, Expire: time.Hour})
	own.Wrote(&fakes.Object{Meta: listwatch.Meta{Namespace: "ns", Name: "c", ResourceVersion: "1000"}})
	fmt.Println(len(pods.Indexer().List()), len(own.List()), own.Whole())
	stop()
	// Output: 2 3 true
}

func ExampleLook() {
	pods, stop := synced(informer.Options{Name: "pods"})
	byNode, _ := indexer.AddIndex(pods.Indexer(), "node", indexer.One(func(o *fakes.Object) string { return o.Value }))
	own := informer.NewOverlay(pods, informer.OverlayOptions{})
	moved, _ := pods.Indexer().Get(listwatch.Key{Namespace: "ns", Name: "a"})
	moved = moved.Clone()
	moved.Value, moved.ResourceVersion = "node-2", "1000" // as the server would answer
	own.Wrote(moved)
	for _, node := range []string{"node-1", "node-2"} {
		for _, pod := range informer.Look(own, byNode, node) {
			fmt.Println(pod.Name, "on", node)
		}
	}
	stop()
	// Output:
	// b on node-1
	// a on node-2
}

func ExampleInformer_Reached() {
	ctx, cancel := context.WithCancel(context.Background())
	server := collection()
	pods := informer.New[*fakes.Object](server, informer.Options{Name: "pods"})
	run := make(chan error)
	go func() { run <- pods.Run(ctx) }()
	_ = pods.WaitForSync(ctx)
	made, _ := server.Create(&fakes.Object{Meta: listwatch.Meta{Namespace: "ns", Name: "c"}})
	<-pods.Reached(made.ResourceVersion).Done() // a step returns it as workqueue.Result.Await instead
	fmt.Println(pods.Indexer().Len())
	cancel()
	<-run
	// Output: 3
}
