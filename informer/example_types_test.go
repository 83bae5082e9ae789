package informer_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/informer"
)

// synced runs an informer of the collection until stop.
func synced(o informer.Options) (pods *informer.Informer[*fakes.Object], stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	pods = informer.New[*fakes.Object](collection(), o)
	run := make(chan error)
	go func() { run <- pods.Run(ctx) }()
	if err := pods.WaitForSync(ctx); err != nil {
		fmt.Println(err)
	}
	return pods, func() {
		cancel()
		<-run
	}
}

func ExampleOptions() {
	pods, stop := synced(informer.Options{
		Name:        "pods",
		Logger:      slog.New(slog.NewTextHandler(io.Discard, nil)),
		OnError:     func(err error) { fmt.Println(err) },
		SyncTimeout: 10 * time.Second,
	})
	fmt.Println(pods.Name(), pods.Indexer().Len())
	stop()
	// Output: pods 2
}

func ExampleHealth() {
	pods, stop := synced(informer.Options{Name: "pods"})
	h := pods.Health()
	fmt.Println(h.Name, h.Running, h.Synced, h.Objects, h.Drift, h.Source.LastError)
	stop()
	fmt.Println(pods.Health().Running)
	// Output:
	// pods true true 2 0 <nil>
	// false
}

func ExampleStats() {
	pods, stop := synced(informer.Options{Name: "pods"})
	s := pods.Stats()
	fmt.Println(s.Changes, s.Skipped, len(s.Handlers))
	stop()
	// Output: 2 0 0
}

func ExampleHandlerStats() {
	pods, stop := synced(informer.Options{Name: "pods"})
	reg, _ := pods.AddHandler(context.Background(), func(context.Context, informer.Change[*fakes.Object]) {},
		informer.HandlerOptions{Name: "counter"})
	<-reg.Synced().Done()
	s := reg.Stats()
	fmt.Println(s.Name, s.Delivered, s.Pending, s.Panics, s.Synced)
	stop()
	// Output: counter 2 0 0 true
}

// A handler that must see every change, and is rather ended than told less.
func ExampleHandlerOptions() {
	pods, stop := synced(informer.Options{Name: "pods"})
	reg, err := pods.AddHandler(context.Background(), func(context.Context, informer.Change[*fakes.Object]) {},
		informer.HandlerOptions{Name: "audit", Policy: informer.EveryEvent, Backlog: 10_000, Resync: -1})
	<-reg.Synced().Done()
	fmt.Println(err, reg.Stats().Name)
	stop()
	// Output: <nil> audit
}

func ExamplePolicy() {
	var o informer.HandlerOptions
	fmt.Println(o.Policy == informer.Coalesce, o.Policy == informer.EveryEvent)
	// Output: true false
}

func ExampleHandler() {
	var h informer.Handler[*fakes.Object] = func(_ context.Context, c informer.Change[*fakes.Object]) {
		fmt.Println(c.Type, c.Key)
	}
	h(context.Background(), informer.Change[*fakes.Object]{Type: informer.Delete, Key: listwatch.Key{Name: "a"}})
	// Output: Delete a
}

func ExampleChange() {
	c := informer.Change[*fakes.Object]{Type: informer.Update, Old: &fakes.Object{Value: "node-1"}, Object: &fakes.Object{Value: "node-2"}}
	if c.Type == informer.Update && !c.Resync && c.Old.Value != c.Object.Value {
		fmt.Println("moved from", c.Old.Value, "to", c.Object.Value)
	}
	// Output: moved from node-1 to node-2
}

func ExampleChangeType() {
	fmt.Println(informer.Add, informer.Update, informer.Delete)
	// Output: Add Update Delete
}

func ExamplePanicError() {
	err := error(&informer.PanicError{Where: "at default/web", Value: "index out of range"})
	var panicked *informer.PanicError
	fmt.Println(errors.As(err, &panicked), err)
	// Output: true panic at default/web: index out of range
}
