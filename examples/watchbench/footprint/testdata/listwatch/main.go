// Command listwatch is the smallest program that does something for each pod, with a struct of its
// own that has the fields which it needs.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/reflector/rest"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

type pod struct {
	listwatch.Meta `json:"metadata"`
	Spec           struct{ NodeName string }
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	cluster, err := rest.InCluster()
	if err != nil {
		return err
	}
	source, err := rest.New[*pod](cluster.URL("/api/v1/pods"), cluster.Options())
	if err != nil {
		return err
	}
	pods := informer.New(source, informer.Options{Name: "pods"})
	queue := workqueue.New[listwatch.Key](workqueue.Options{Name: "pods"})
	if _, err := informer.Enqueue(ctx, pods, queue); err != nil {
		return err
	}
	go func() { _ = pods.Run(ctx) }()
	if err := pods.WaitForSync(ctx); err != nil {
		return err
	}
	return workqueue.Process(ctx, queue, 1, func(_ context.Context, key listwatch.Key) (workqueue.Result, error) {
		if p, ok := pods.Indexer().Get(key); ok {
			fmt.Println(key, p.Spec.NodeName)
		}
		return workqueue.Result{}, nil
	})
}
