package crd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/benbjohnson/clock"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/registry"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/internal/timing"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

const (
	// manager owns the fields that the controller writes.
	manager = "kube-apiserver"
	// settleWait is how long the watches of a kind that is served no more are waited for.
	settleWait = 5 * time.Second
	// leftWait is after how long objects that something keeps are looked for again.
	leftWait = time.Second
)

// Options say how a [Controller] works.
type Options struct {
	// Publish is called with the rows of all established definitions whenever they change, from one goroutine. It
	// must not block for long. It must be set.
	Publish func(kinds.Kinds)
	// Clock is the time. Defaults to the real one.
	Clock clock.Clock
	// Logger hears of failures. Defaults to nobody.
	Logger *slog.Logger
}

// Controller serves what definitions define. It is made by [New].
type Controller struct {
	registry    *registry.Registry
	options     Options
	definitions *informer.Informer[*Definition]
	own         *informer.Overlay[*Definition]
	target      registry.Target
	published   *published
	first       chan struct{} // closed when rows have been published, and definitions say so
	once        sync.Once
}

// New returns a controller of the definitions in a registry. Nothing happens before Run.
func New(r *registry.Registry, o Options) *Controller {
	o.Clock = timing.Or(o.Clock)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	c := &Controller{
		registry: r, options: o, target: registry.Target{Kind: Kind()}, first: make(chan struct{}),
		published: &published{by: make(map[types.UID]*defined)},
	}
	c.definitions = informer.New[*Definition](source{r, c.target}, informer.Options{Name: "definitions", Logger: o.Logger})
	c.own = informer.NewOverlay(c.definitions, informer.OverlayOptions{})
	return c
}

// Run serves what is defined until ctx is done. It blocks, and is called once. The error is nil then.
func (c *Controller) Run(ctx context.Context) error {
	queue := workqueue.New[listwatch.Key](workqueue.Options{Name: "definitions", Logger: c.options.Logger})
	all := listwatch.Key{Name: "all"}
	if _, err := c.definitions.AddHandler(ctx, func(context.Context, informer.Change[*Definition]) { queue.Add(all) }, informer.HandlerOptions{}); err != nil {
		return err
	}
	var running sync.WaitGroup
	defer running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var ended error
	running.Go(func() { ended = c.definitions.Run(ctx) })
	if err := c.definitions.WaitForSync(ctx); err != nil {
		return fmt.Errorf("crd: %w", errors.Join(err, ended))
	}
	queue.Add(all) // there may be none
	err := workqueue.Process(ctx, queue, 1, func(ctx context.Context, _ listwatch.Key) (workqueue.Result, error) { return c.step(ctx) })
	c.published.retireAll()
	return err
}

// WaitForPublished blocks until what was defined before is served, or ctx is done.
func (c *Controller) WaitForPublished(ctx context.Context) error {
	select {
	case <-c.first:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("crd: %w", context.Cause(ctx))
	}
}

// Ensure creates a definition when it is not there.
func (c *Controller) Ensure(ctx context.Context, d *Definition) error {
	_, err := c.registry.Create(ctx, c.target, d.DeepCopy(), metav1.CreateOptions{FieldManager: manager})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// step looks at all definitions and does what there is to do.
func (c *Controller) step(ctx context.Context) (workqueue.Result, error) {
	all := c.own.List()
	slices.SortFunc(all, func(a, b *Definition) int {
		if byTime := a.CreationTimestamp.Time.Compare(b.CreationTimestamp.Time); byTime != 0 {
			return byTime
		}
		return strings.Compare(a.Name, b.Name)
	})
	var changed []*Definition
	for i, d := range all {
		next := d.DeepCopy()
		decide(next, takenBy(others(all, d)), c.options.Clock.Now())
		if d.DeletionTimestamp == nil && !reflect.DeepEqual(d.Status, next.Status) {
			changed = append(changed, next)
			all[i] = next
		}
	}
	// Who reads that a kind is established finds it served.
	c.publish(ctx, all)
	for _, d := range changed {
		if _, err := c.write(ctx, d, "status"); err != nil {
			return workqueue.Result{}, err
		}
	}
	c.once.Do(func() { close(c.first) })
	return c.cleanUp(ctx, all)
}

// others are the definitions of the same group beside d.
func others(all []*Definition, d *Definition) []*Definition {
	return slices.DeleteFunc(slices.Clone(all), func(o *Definition) bool { return o.Name == d.Name || o.Spec.Group != d.Spec.Group })
}

// write stores a definition that nobody has changed meanwhile. One that has gone is returned as it was.
func (c *Controller) write(ctx context.Context, d *Definition, subresource string) (*Definition, error) {
	t := c.target
	t.Name, t.Subresource = d.Name, subresource
	written, err := c.registry.Update(ctx, t, d, metav1.UpdateOptions{FieldManager: manager})
	if err != nil {
		return nil, fmt.Errorf("crd: %s: %w", d.Name, err)
	}
	stored := written.Object.(*Definition)
	if stored.DeletionTimestamp != nil && len(stored.Finalizers) == 0 {
		c.own.Deleted(stored)
	} else {
		c.own.Wrote(stored)
	}
	return stored, nil
}
