// Command samplecontroller is a whole controller: for each Widget it keeps a ConfigMap of the
// same name that holds the widget's spec, and says so in the widget's status.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	clientrest "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/apiserver"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/reflector/rest"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

const workers = 4

var (
	widgetKind = schema.GroupVersionKind{Group: "wire.example.com", Version: "v1", Kind: "Widget"}
	widgets    = widgetKind.GroupVersion().WithResource("widgets")
	configMaps = corev1.SchemeGroupVersion.WithResource("configmaps")
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
		own, startErr := apiserver.Start(ctx, apiserver.Options{})
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

// controller is what a step needs.
type controller struct {
	widgets    *informer.Informer[*Widget]
	configMaps *informer.Informer[*corev1.ConfigMap]
	writer     dynamic.Interface
}

// run reads through informers, writes through a client of client-go, and blocks until ctx is
// done. Both use the same HTTP client.
func run(ctx context.Context, config *clientrest.Config, client *http.Client) error {
	base, _, err := clientrest.DefaultServerUrlFor(config)
	if err != nil {
		return err
	}
	widgetSource, err := rest.New[*Widget](base.JoinPath("apis/wire.example.com/v1/widgets").String(), rest.Options{Client: client})
	if err != nil {
		return err
	}
	configMapSource, err := rest.New[*corev1.ConfigMap](base.JoinPath("api/v1/configmaps").String(), rest.Options{Client: client})
	if err != nil {
		return err
	}
	writer, err := dynamic.NewForConfigAndClient(config, client)
	if err != nil {
		return err
	}
	var factory informer.Factory
	c := &controller{writer: writer}
	if c.widgets, err = informer.Of(&factory, "widgets", widgetSource); err != nil {
		return err
	}
	if c.configMaps, err = informer.Of(&factory, "configmaps", configMapSource); err != nil {
		return err
	}
	queue := workqueue.New[listwatch.Key](workqueue.Options{Name: "widgets"})
	if _, err := informer.Enqueue(ctx, c.widgets, queue); err != nil {
		return err
	}
	if _, err := informer.EnqueueOf(ctx, c.configMaps, queue, ownerKeys); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	var ended error
	running.Go(func() { ended = factory.Run(ctx) })
	if err = factory.WaitForSync(ctx); err == nil {
		err = workqueue.Process(ctx, queue, workers, c.step)
	}
	cancel()
	running.Wait()
	return errors.Join(err, ended)
}

// ownerKeys returns the key of the widget that owns a config map.
func ownerKeys(m *corev1.ConfigMap) []listwatch.Key {
	if owner := metav1.GetControllerOf(m); owner != nil && owner.Kind == widgetKind.Kind {
		return []listwatch.Key{{Namespace: m.Namespace, Name: owner.Name}}
	}
	return nil
}

// step makes the world as the widget under key wants it. It looks at what is, not at what has
// happened, so it does not matter how often it runs.
func (c *controller) step(ctx context.Context, key listwatch.Key) (workqueue.Result, error) {
	widget, found := c.widgets.Indexer().Get(key)
	held, exists := c.configMaps.Indexer().Get(key)
	switch {
	case exists && len(ownerKeys(held)) > 0 && (!found || !metav1.IsControlledBy(held, widget)):
		return workqueue.Result{}, c.remove(ctx, held)
	case !found || widget.DeletionTimestamp != nil:
		return workqueue.Result{}, nil
	case exists && !metav1.IsControlledBy(held, widget):
		return workqueue.Result{}, fmt.Errorf("config map %s is not ours", key)
	case !exists:
		return c.wrote(c.create(ctx, widget))
	case !maps.Equal(held.Data, data(widget)):
		return c.wrote(c.restore(ctx, widget, held))
	}
	return workqueue.Result{}, c.report(ctx, widget)
}

// data is what the config map of a widget holds.
func data(w *Widget) map[string]string {
	return map[string]string{"size": strconv.FormatInt(w.Spec.Size, 10), "color": w.Spec.Color, "note": w.Spec.Note}
}

// wrote has the next step for the widget wait until the cache has the written config map; that
// step reports it.
func (c *controller) wrote(version string, err error) (workqueue.Result, error) {
	if err != nil || version == "" {
		return workqueue.Result{}, err
	}
	return workqueue.Result{Await: c.configMaps.Reached(version)}, nil
}
