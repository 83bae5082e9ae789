package growth

import (
	"context"
	"errors"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"

	"github.com/seed3bce33ad/listwatch/examples/watchbench/sides"
)

// group is informers of one collection, whose handlers count.
type group struct {
	informers []*sides.Informer
	pods      []corev1.Pod // they all list these
	left      atomic.Int64 // deliveries to come, when live
	live      atomic.Bool
	told      chan struct{}
}

func newGroup(side string, informers int, pods []corev1.Pod) (*group, error) {
	g := &group{pods: pods, told: make(chan struct{}, 1)}
	for range informers {
		i, err := sides.New(side, g.pods, 1) // a longer one would weigh more than the informer
		if err != nil {
			return nil, err
		}
		g.informers = append(g.informers, i)
	}
	return g, nil
}

func (g *group) tell(*corev1.Pod) {
	if g.live.Load() && g.left.Add(-1) == 0 {
		g.told <- struct{}{}
	}
}

// handle adds so many handlers to each informer.
func (g *group) handle(ctx context.Context, handlers int) error {
	for _, i := range g.informers {
		for range handlers {
			if err := i.AddHandler(ctx, true, g.tell); err != nil {
				return err
			}
		}
	}
	return nil
}

// start adds so many handlers to each informer, runs all, and waits until they are synced.
func (g *group) start(ctx context.Context, handlers int) error {
	if err := g.handle(ctx, handlers); err != nil {
		return err
	}
	for _, i := range g.informers {
		i.Start(ctx)
	}
	return g.synced(ctx)
}

func (g *group) synced(ctx context.Context) error {
	for _, i := range g.informers {
		if err := i.Synced(ctx); err != nil {
			return err
		}
	}
	return nil
}

// update sends a newer state of an object to each informer, and waits until every handler of
// the so many each has was told.
func (g *group) update(ctx context.Context, handlers int) error {
	g.left.Store(int64(len(g.informers) * handlers))
	g.live.Store(true)
	version := sides.Versions(sides.FirstVersion, 1)[0]
	for _, i := range g.informers {
		pod := g.pods[0]
		pod.ResourceVersion = version
		if err := i.Send(ctx, &pod); err != nil {
			return err
		}
	}
	select {
	case <-g.told:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (g *group) stop() error {
	var all []error
	for _, i := range g.informers {
		all = append(all, i.Stop())
	}
	return errors.Join(all...)
}
