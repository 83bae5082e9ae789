package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/indexer"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

// workers is how many services are worked on at a time.
const workers = 4

// proxy is what the steps share.
type proxy struct {
	Options
	services *informer.Informer[*corev1.Service]
	slices   *indexer.Index[*discoveryv1.EndpointSlice, listwatch.Key]
	events   *kube.Recorder
	queue    *workqueue.Queue[listwatch.Key]
	// ctx is that of all connections; they are waited for with running.
	ctx     context.Context
	running sync.WaitGroup

	mu sync.Mutex
	// open are the portals of each service. Guarded by mu; the inner maps are the step's of that key.
	open map[listwatch.Key]map[address]*portal
	// blocked are the addresses that each service can't listen on. Guarded by mu, as open is.
	blocked map[listwatch.Key]map[address]bool
}

// portal is an address that is listened on.
type portal struct {
	to       *balancer
	service  *corev1.Service
	listener io.Closer
}

// Run passes connections to services on to their endpoints. It blocks until ctx is done; then no listener, connection or
// goroutine of it is left. An error means that it could not begin.
func Run(ctx context.Context, o Options) (err error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := &proxy{
		Options: o, ctx: ctx, events: kube.NewRecorder(o.Cluster, "proxy", o.Clock),
		queue: workqueue.New[listwatch.Key](workqueue.Options{Name: "proxy", Clock: o.Clock, Logger: o.Logger}),
		open:  map[listwatch.Key]map[address]*portal{}, blocked: map[listwatch.Key]map[address]bool{},
	}
	defer p.queue.Close()
	if err := p.follow(); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	if o.ServiceIPs.IsValid() {
		undo, err := makeLocal(o.ServiceIPs)
		if err != nil {
			return fmt.Errorf("proxy: make %s local: %w", o.ServiceIPs, err)
		}
		defer func() { err = errors.Join(err, undo()) }()
	}
	var factory sync.WaitGroup
	var ended error
	factory.Go(func() { ended = o.Factory.Run(ctx) })
	if err = o.Factory.WaitForSync(ctx); err == nil {
		err = workqueue.Process(ctx, p.queue, workers, p.step)
	} else if ctx.Err() != nil {
		err = nil
	}
	cancel()
	p.closeAll()
	factory.Wait()
	p.running.Wait()
	return errors.Join(err, ended)
}

// follow makes the informers.
func (p *proxy) follow() (err error) {
	if p.services, err = kube.Follow[*corev1.Service](p.Cluster, p.Factory, kube.Select{}); err != nil {
		return err
	}
	slices, err := kube.Follow[*discoveryv1.EndpointSlice](p.Cluster, p.Factory, kube.Select{})
	if err != nil {
		return err
	}
	if p.slices, err = indexer.AddIndex(slices.Indexer(), "proxy service", serviceOf); err != nil {
		return err
	}
	_, err1 := informer.Enqueue(p.ctx, p.services, p.queue)
	_, err2 := informer.EnqueueOf(p.ctx, slices, p.queue, serviceOf)
	return errors.Join(err1, err2)
}

// serviceOf is the key of the service that a slice is of.
func serviceOf(s *discoveryv1.EndpointSlice) []listwatch.Key {
	name := s.Labels[discoveryv1.LabelServiceName]
	if name == "" {
		return nil
	}
	return []listwatch.Key{{Namespace: s.Namespace, Name: name}}
}

// step makes what is listened on for a service equal to what it wants.
func (p *proxy) step(ctx context.Context, k listwatch.Key) (workqueue.Result, error) {
	service, found := p.services.Indexer().Get(k)
	var want map[address]target
	if found {
		want = portals(service, p.slices.Get(k), p.NodeAddresses)
	}
	open, blocked := p.of(k)
	freed := false
	for at, held := range open {
		if to, ok := want[at]; !ok || to.service != held.service.UID {
			_ = held.listener.Close() // what it was good for has ended
			delete(open, at)
			freed = true
			p.Logger.Info("stopped listening", "service", k, "address", at)
		}
	}
	for at := range blocked {
		if _, ok := want[at]; !ok {
			delete(blocked, at)
		}
	}
	for at, to := range want {
		if held, ok := open[at]; ok {
			p.move(k, at, held, to)
		} else {
			p.listen(ctx, service, at, to)
		}
	}
	p.done(k, freed)
	if len(blocked) > 0 {
		return workqueue.Result{After: p.Retry}, nil
	}
	return workqueue.Result{}, nil
}

// of returns what is open and blocked for a service.
func (p *proxy) of(k listwatch.Key) (map[address]*portal, map[address]bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open[k] == nil {
		p.open[k], p.blocked[k] = map[address]*portal{}, map[address]bool{}
	}
	return p.open[k], p.blocked[k]
}

// done ends a step: what it has freed, another service may wait for.
func (p *proxy) done(k listwatch.Key, freed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.open[k]) == 0 && len(p.blocked[k]) == 0 {
		delete(p.open, k)
		delete(p.blocked, k)
	}
	if !freed {
		return
	}
	for other := range p.blocked {
		if other != k {
			p.queue.Add(other)
		}
	}
}

// move gives an open portal the endpoints of now.
func (p *proxy) move(k listwatch.Key, at address, held *portal, to target) {
	if held.to.set(to) {
		p.Logger.Info("endpoints changed", "service", k, "address", at, "endpoints", len(to.endpoints))
	}
}

// listen opens a portal, or tells the first time that it can't be.
func (p *proxy) listen(ctx context.Context, s *corev1.Service, at address, to target) {
	k := listwatch.Key{Namespace: s.Namespace, Name: s.Name}
	open, blocked := p.of(k)
	b := newBalancer(p.Clock, to)
	var listener io.Closer
	var err error
	switch at.protocol {
	case corev1.ProtocolTCP:
		listener, err = p.listenTCP(at, b)
	case corev1.ProtocolUDP:
		listener, err = p.listenUDP(at, b)
	default:
		err = fmt.Errorf("protocol %s is not spoken", at.protocol)
	}
	if err == nil {
		open[at] = &portal{b, s, listener}
		delete(blocked, at)
		p.Logger.Info("listening", "service", k, "address", at, "endpoints", len(to.endpoints))
		return
	}
	if blocked[at] {
		return
	}
	blocked[at] = true
	p.Logger.Warn("can't listen", "service", k, "address", at, "err", err)
	message := fmt.Sprintf("can't listen on %s: %v", at, err)
	if err := p.events.Event(ctx, s, corev1.EventTypeWarning, "CantListen", message); err != nil && ctx.Err() == nil {
		p.Logger.Warn("event", "service", k, "err", err)
	}
}

// closeAll closes all portals.
func (p *proxy) closeAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, all := range p.open {
		for _, held := range all {
			_ = held.listener.Close() // what it was good for has ended
		}
	}
}
