// Command prometheus shows what an informer and a work queue tell of themselves: it prints the
// metrics once, or serves them beside the debug page.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/prometheus/collector"
	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

func main() {
	listen := flag.String("listen", "", "address to serve /metrics and /debug/informers at, such as localhost:8080; none: print the metrics once")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *listen, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run is a controller of pods, whose server stands in memory, with everything that shows it.
func run(ctx context.Context, listen string, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()

	// A program has a rest.Source here.
	server := fakes.New(fakes.StampObject, fakes.Options[*fakes.Object]{})
	for _, name := range []string{"db", "proxy", "web"} {
		if _, err := server.Put(&fakes.Object{Meta: listwatch.Meta{Namespace: "default", Name: name}}); err != nil {
			return err
		}
	}
	quiet := slog.New(slog.DiscardHandler)
	factory := informer.Factory{Options: informer.Options{Logger: quiet}}
	pods, err := informer.Of(&factory, "pods", server)
	if err != nil {
		return err
	}
	queue := workqueue.New[listwatch.Key](workqueue.Options{Name: "pods", Logger: quiet})
	handler, err := informer.Enqueue(ctx, pods, queue)
	if err != nil {
		return err
	}
	ended := make(chan error, 2)
	running.Go(func() { ended <- factory.Run(ctx) })
	running.Go(func() { ended <- workqueue.Process(ctx, queue, 2, step) })
	defer queue.Close()
	if err := factory.WaitForSync(ctx); err != nil {
		return err
	}
	<-handler.Synced().Done()

	registry := prometheus.NewRegistry()
	registry.MustRegister(collector.New(collector.Options{Factory: &factory, Queues: []informer.Queue{queue}}))
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.Handle("GET /debug/informers", informer.DebugHandler(informer.DebugOptions{Factory: &factory, Queues: []informer.Queue{queue}}))
	if listen != "" {
		return serve(ctx, listen, mux, out)
	}
	if _, err := queue.Drain(ctx); err != nil { // so that there is something to be seen
		return err
	}
	once := httptest.NewRecorder()
	mux.ServeHTTP(once, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	_, err = once.Body.WriteTo(out)
	return err
}

// step is where a controller would do its work. One key never succeeds.
func step(_ context.Context, k listwatch.Key) (workqueue.Result, error) {
	if k.Name == "proxy" {
		return workqueue.Result{}, errors.New("out of order")
	}
	return workqueue.Result{}, nil
}

// serve answers requests until ctx is done.
func serve(ctx context.Context, address string, h http.Handler, out io.Writer) error {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "http://%s/metrics\nhttp://%[1]s/debug/informers\n", listener.Addr())
	server := http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
