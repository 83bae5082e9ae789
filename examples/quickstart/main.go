// Command quickstart shows the whole line in one process: an API server, an informer that keeps
// a copy of its pods, an index, a work queue and a loop that works it off. On the way the
// connection is cut and the server's history is dropped; at the end copy and server are
// compared.
package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/apiserver"
	"github.com/seed3bce33ad/listwatch/indexer"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/reflector"
	"github.com/seed3bce33ad/listwatch/reflector/rest"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

// patience is how long the whole may take.
const patience = time.Minute

//go:embed testdata/list-pods.json
var recorded []byte

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	err := run(ctx, os.Stdout)
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer) (err error) {
	server, err := apiserver.Start(ctx, apiserver.Options{Namespaces: []string{"wire"}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	// The writer keeps no connections: those of the informer alone are to be cut.
	writer := &api{
		url:    server.URL() + "/api/v1/namespaces/wire/pods",
		client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
	}
	loaded, err := writer.load(ctx, recorded)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "loaded %d pods into the server\n", loaded)

	d := &demo{out: out, seen: make(chan string, 100), network: network{next: &http.Transport{}}}
	defer d.network.next.CloseIdleConnections()
	if err := d.start(ctx, server.URL()); err != nil {
		return err
	}
	defer d.stop()
	return d.story(ctx, server, writer, loaded)
}

// network is the client's way to the server, which can be broken.
type network struct {
	next *http.Transport
	down atomic.Bool
}

// RoundTrip sends a request unless the network is down.
func (n *network) RoundTrip(r *http.Request) (*http.Response, error) {
	if n.down.Load() {
		return nil, errors.New("the network is down")
	}
	return n.next.RoundTrip(r)
}

// demo is the informer with what hangs on it.
type demo struct {
	out     io.Writer
	network network
	pods    *informer.Informer[*corev1.Pod]
	byNode  *indexer.Index[*corev1.Pod, string]
	running sync.WaitGroup
	cancel  context.CancelFunc
	// seen is told each state that was worked on, as "name version" or "name gone".
	seen chan string
	// expired counts how often the server said that its history is gone.
	expired atomic.Int64
}

// start makes the informer and the loop, and waits until the copy is complete.
func (d *demo) start(ctx context.Context, url string) error {
	source, err := rest.New[*corev1.Pod](url+"/api/v1/pods", rest.Options{Client: &http.Client{Transport: &d.network}})
	if err != nil {
		return err
	}
	d.pods = informer.New(source, informer.Options{
		Name:      "pods",
		Logger:    slog.New(slog.DiscardHandler),
		OnError:   d.onError,
		Reflector: reflector.Options{BackoffBase: 50 * time.Millisecond},
	})
	d.byNode, err = indexer.AddIndex(d.pods.Indexer(), "node", indexer.One(func(p *corev1.Pod) string { return p.Spec.NodeName }))
	if err != nil {
		return err
	}
	ctx, d.cancel = context.WithCancel(ctx)
	queue := workqueue.New[listwatch.Key](workqueue.Options{Name: "pods"})
	if _, err := informer.Enqueue(ctx, d.pods, queue); err != nil {
		return err
	}
	d.running.Go(func() {
		if err := d.pods.Run(ctx); err != nil {
			fmt.Fprintln(d.out, "the informer ended:", err)
		}
	})
	d.running.Go(func() {
		if err := workqueue.Process(ctx, queue, 1, d.step); err != nil {
			fmt.Fprintln(d.out, "the loop ended:", err)
		}
	})
	return d.pods.WaitForSync(ctx)
}

func (d *demo) stop() {
	d.cancel()
	d.running.Wait()
}

// step works on one key: it looks at the copy, not at what happened.
func (d *demo) step(ctx context.Context, key listwatch.Key) (workqueue.Result, error) {
	pod, ok := d.pods.Indexer().Get(key)
	state := key.Name + " gone"
	switch {
	case !ok:
		fmt.Fprintf(d.out, "  pod %-22s gone\n", key.Name)
	case pod.DeletionTimestamp != nil:
		return workqueue.Result{}, nil // on its way out: there is nothing to do for it
	default:
		state = key.Name + " " + pod.ResourceVersion
		fmt.Fprintf(d.out, "  pod %-22s %-10s on %q\n", key.Name, pod.Status.Phase, pod.Spec.NodeName)
	}
	select {
	case d.seen <- state:
		return workqueue.Result{}, nil
	case <-ctx.Done():
		return workqueue.Result{}, context.Cause(ctx)
	}
}

func (d *demo) onError(err error) {
	if errors.Is(err, listwatch.ErrExpired) {
		d.expired.Add(1)
	}
}

// await blocks until the loop has worked on a state.
func (d *demo) await(ctx context.Context, state string) error {
	for {
		select {
		case got := <-d.seen:
			if got == state {
				return nil
			}
		case <-ctx.Done():
			return fmt.Errorf("waiting for %q: %w", state, context.Cause(ctx))
		}
	}
}
