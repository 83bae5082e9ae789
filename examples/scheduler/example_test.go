package scheduler_test

import (
	"context"
	"fmt"
	"sync"

	clientrest "k8s.io/client-go/rest"

	"github.com/seed3bce33ad/listwatch/examples/apiserver"
	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/examples/scheduler"
)

func ExampleRun() {
	ctx, cancel := context.WithCancel(context.Background())
	server, err := apiserver.Start(ctx, apiserver.Options{})
	if err != nil {
		panic(err)
	}
	cluster, err := kube.Connect(&clientrest.Config{Host: server.URL()})
	if err != nil {
		panic(err)
	}
	var running sync.WaitGroup
	running.Go(func() { fmt.Println("ended:", scheduler.Run(ctx, scheduler.Options{Cluster: cluster})) })
	// Pods that are created now get nodes.
	cancel()
	running.Wait()
	cluster.Close()
	fmt.Println("closed:", server.Close())
	// Output:
	// ended: <nil>
	// closed: <nil>
}
