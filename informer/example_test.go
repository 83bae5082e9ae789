package informer_test

import (
	"context"
	"fmt"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/indexer"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

// collection returns a server in memory with two objects, a and b.
func collection() *fakes.Source[*fakes.Object] {
	source := fakes.New(fakes.StampObject, fakes.Options[*fakes.Object]{})
	for _, name := range []string{"a", "b"} {
		_, _ = source.Put(&fakes.Object{Meta: listwatch.Meta{Namespace: "ns", Name: name}, Value: "node-1"})
	}
	return source
}

func ExampleInformer() {
	ctx, cancel := context.WithCancel(context.Background())
	pods := informer.New[*fakes.Object](collection(), informer.Options{Name: "pods"})
	byNode, _ := indexer.AddIndex(pods.Indexer(), "node", indexer.One(func(o *fakes.Object) string { return o.Value }))

	run := make(chan error)
	go func() { run <- pods.Run(ctx) }()
	if err := pods.WaitForSync(ctx); err != nil {
		fmt.Println(err)
	}
	pod, ok := pods.Indexer().Get(listwatch.Key{Namespace: "ns", Name: "a"})
	fmt.Println(ok, pod.Name, "on", pod.Value)
	fmt.Println(len(byNode.Get("node-1")), "on node-1")
	cancel()
	fmt.Println(<-run)
	// Output:
	// true a on node-1
	// 2 on node-1
	// <nil>
}

func ExampleInformer_AddHandler() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	pods := informer.New[*fakes.Object](collection(), informer.Options{Name: "pods"})
	reg, err := pods.AddHandler(ctx, func(_ context.Context, c informer.Change[*fakes.Object]) {
		fmt.Println(c.Type, c.Key, "initial:", c.Initial)
	}, informer.HandlerOptions{})
	if err != nil {
		fmt.Println(err)
	}
	run := make(chan error)
	go func() { run <- pods.Run(ctx) }()
	<-reg.Synced().Done() // the handler has returned from both
	cancel()
	<-run
	<-reg.Done()
	// Output:
	// Add ns/a initial: true
	// Add ns/b initial: true
}

func ExampleRegistration() {
	pods := informer.New[*fakes.Object](collection(), informer.Options{Name: "pods"})
	reg, _ := pods.AddHandler(context.Background(), func(context.Context, informer.Change[*fakes.Object]) {}, informer.HandlerOptions{Name: "idle"})
	fmt.Println(reg.Stats().Name, reg.Synced().Fired())
	reg.Remove()
	<-reg.Done()
	fmt.Println(reg.Err())
	// Output:
	// idle false
	// <nil>
}

func ExampleEnqueue() {
	ctx, cancel := context.WithCancel(context.Background())
	source := collection()
	pods := informer.New[*fakes.Object](source, informer.Options{Name: "pods"})
	queue := workqueue.New[listwatch.Key](workqueue.Options{Name: "pods"})
	if _, err := informer.Enqueue(ctx, pods, queue); err != nil {
		fmt.Println(err)
	}
	run := make(chan error)
	go func() { run <- pods.Run(ctx) }()
	if err := pods.WaitForSync(ctx); err != nil {
		fmt.Println(err)
	}
	_ = workqueue.Process(ctx, queue, 1, func(_ context.Context, k listwatch.Key) (workqueue.Result, error) {
		pod, ok := pods.Indexer().Get(k)
		fmt.Println("reconcile", k, ok, pod.Value)
		if k.Name == "b" {
			cancel()
		}
		return workqueue.Result{}, nil
	})
	<-run
	// Output:
	// reconcile ns/a true node-1
	// reconcile ns/b true node-1
}

func ExampleFilter() {
	h := informer.Filter(func(o *fakes.Object) bool { return o.Value == "mine" },
		func(_ context.Context, c informer.Change[*fakes.Object]) { fmt.Println(c.Type) })
	mine, theirs := &fakes.Object{Value: "mine"}, &fakes.Object{Value: "theirs"}
	h(context.Background(), informer.Change[*fakes.Object]{Type: informer.Add, Object: theirs})
	h(context.Background(), informer.Change[*fakes.Object]{Type: informer.Update, Old: theirs, Object: mine})
	h(context.Background(), informer.Change[*fakes.Object]{Type: informer.Update, Old: mine, Object: theirs})
	// Output:
	// Add
	// Delete
}

func ExampleFactory() {
	ctx, cancel := context.WithCancel(context.Background())
	var all informer.Factory
	pods, err := informer.Of[*fakes.Object](&all, "pods", collection())
	if err != nil {
		fmt.Println(err)
	}
	run := make(chan error)
	go func() { run <- all.Run(ctx) }()
	fmt.Println(all.WaitForSync(ctx), pods.Indexer().Len())
	cancel()
	fmt.Println(<-run)
	// Output:
	// <nil> 2
	// <nil>
}
