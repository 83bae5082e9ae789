package proxy_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	clientrest "k8s.io/client-go/rest"

	"github.com/seed3bce33ad/listwatch/examples/apiserver"
	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/examples/proxy"
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
	running.Go(func() {
		fmt.Println("ended:", proxy.Run(ctx, proxy.Options{Cluster: cluster, Logger: slog.New(slog.DiscardHandler)}))
	})
	// Services that are created now are listened on.
	cancel()
	running.Wait()
	cluster.Close()
	fmt.Println("closed:", server.Close())
	// Output:
	// ended: <nil>
	// closed: <nil>
}
