// Command samplecontroller is a whole controller: for each Widget it keeps a ConfigMap of the
// same name that holds the widget's spec, and says so in the widget's status. The controller is
// controller.go; this file is the command around it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"

	clientrest "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/seed3bce33ad/listwatch/examples/apiserver"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	server := flag.String("server", "", "address of an API server; without it and --kubeconfig one is started in this process")
	kubeconfig := flag.String("kubeconfig", "", "file that tells how to reach a cluster")
	flag.Parse()
	if err := start(ctx, *server, *kubeconfig); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// start runs the controller against a server, and with neither argument against one of its own.
func start(ctx context.Context, server, kubeconfig string) (err error) {
	if server == "" && kubeconfig == "" {
		own, startErr := apiserver.Start(ctx, apiserver.Options{Definitions: definitions()})
		if startErr != nil {
			return startErr
		}
		defer func() { err = errors.Join(err, own.Close()) }()
		server = own.URL()
		fmt.Println("API server:", server)
	}
	config, err := clientcmd.BuildConfigFromFlags(server, kubeconfig)
	if err != nil {
		return err
	}
	client, err := clientrest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	return run(ctx, config, client)
}
