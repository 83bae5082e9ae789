package leader

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/ptr"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/internal/timing"
)

// errLost is why the context of a term ends whose lease is lost.
var errLost = errors.New("leader: the lease is lost")

// candidate wants to lead.
type candidate struct {
	Options
	key    listwatch.Key
	client kube.Client[*coordinationv1.Lease]
	leases *informer.Informer[*coordinationv1.Lease]
	// changed has something when the lease has changed.
	changed chan struct{}
	// seen is the lease as it was when it changed last, and at when that was seen.
	seen *coordinationv1.Lease
	at   time.Time
}

// Run calls lead whenever the lease is held, one call at a time, until ctx is done or lead has returned while the lease was
// still held; then it gives the lease back. It returns the error of lead in the latter case, and else nil, or an error when the
// options make no sense.
func Run(ctx context.Context, o Options, lead func(context.Context) error) error {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return err
	}
	c := &candidate{
		Options: o, key: listwatch.Key{Namespace: o.Namespace, Name: o.Name}, client: kube.For[*coordinationv1.Lease](o.Cluster),
		changed: make(chan struct{}, 1),
	}
	factory := informer.Factory{Options: informer.Options{Clock: o.Clock, Logger: o.Logger}}
	var err error
	c.leases, err = kube.Follow[*coordinationv1.Lease](o.Cluster, &factory, kube.Select{Namespace: o.Namespace, Fields: "metadata.name=" + o.Name})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	_, err = c.leases.AddHandler(ctx, func(context.Context, informer.Change[*coordinationv1.Lease]) { c.wake() }, informer.HandlerOptions{Name: "leader"})
	if err != nil {
		return fmt.Errorf("leader: %w", err)
	}
	var reading sync.WaitGroup
	reading.Go(func() { _ = factory.Run(ctx) }) // it only wakes up: what is done goes by the server's answers
	defer reading.Wait()
	defer cancel()
	for {
		held, sent := c.campaign(ctx)
		if held == nil {
			return nil
		}
		c.Logger.Info("leads", "lease", c.key.String(), "identity", c.Identity)
		err := c.term(ctx, held, sent, lead)
		if !errors.Is(err, errLost) {
			return err
		}
		c.Logger.Warn("lease lost", "lease", c.key.String(), "identity", c.Identity)
	}
}

func (c *candidate) wake() {
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

// pause waits for some time, or until the lease changes. It reports false when ctx is done.
func (c *candidate) pause(ctx context.Context, d time.Duration, other <-chan struct{}) bool {
	timer := c.Clock.Timer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.changed:
	case <-other:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// campaign blocks until the lease is held, and returns it with the time when it was asked for; nil when ctx is done.
func (c *candidate) campaign(ctx context.Context) (*coordinationv1.Lease, time.Time) {
	for ctx.Err() == nil {
		sent := c.Clock.Now()
		held, wait := c.attempt(ctx)
		if held != nil && c.Clock.Since(sent) < c.RenewDeadline {
			return held, sent
		}
		if held != nil { // it is ours by the record, but others may have waited it out by now
			continue
		}
		c.pause(ctx, wait, nil)
	}
	return nil, time.Time{}
}

// attempt takes the lease if it is free, or returns for how long to wait.
func (c *candidate) attempt(ctx context.Context) (*coordinationv1.Lease, time.Duration) {
	ctx, cancel := c.within(ctx, c.RenewDeadline)
	defer cancel()
	now, err := c.get(ctx)
	if err != nil {
		c.Logger.Debug("lease not read", "lease", c.key.String(), "error", err)
		return nil, c.RetryPeriod
	}
	c.look(now)
	if left := c.left(now); left > 0 {
		return nil, min(left, c.RetryPeriod)
	}
	held, err := c.write(ctx, now)
	if err != nil {
		c.Logger.Debug("lease not taken", "lease", c.key.String(), "error", err)
		return nil, c.RetryPeriod
	}
	return held, 0
}

// within bounds a context by the clock.
func (c *candidate) within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := timing.AfterFunc(c.Clock, d, cancel)
	return ctx, func() { stop(); cancel() }
}

// look notes when the lease has changed. That it is gone is no change: whoever held it may not know yet.
func (c *candidate) look(now *coordinationv1.Lease) {
	if now == nil || c.seen != nil && c.seen.UID == now.UID && c.seen.ResourceVersion == now.ResourceVersion {
		return
	}
	c.seen, c.at = now, c.Clock.Now()
}

// left is for how long the lease is somebody else's still.
func (c *candidate) left(now *coordinationv1.Lease) time.Duration {
	last := now
	if last == nil {
		last = c.seen
	}
	if last == nil {
		return 0 // there was never one
	}
	if holder := ptr.Deref(last.Spec.HolderIdentity, ""); holder == "" || holder == c.Identity {
		return 0
	}
	duration := time.Duration(ptr.Deref(last.Spec.LeaseDurationSeconds, 0)) * time.Second
	if duration <= 0 {
		duration = c.LeaseDuration
	}
	return duration - c.Clock.Since(c.at)
}

// term runs lead for as long as the lease is renewed.
func (c *candidate) term(ctx context.Context, held *coordinationv1.Lease, sent time.Time, lead func(context.Context) error) error {
	leading, end := context.WithCancelCause(ctx)
	defer end(nil)
	done := make(chan struct{})
	var err error
	var acting sync.WaitGroup
	acting.Go(func() {
		defer close(done)
		err = lead(leading)
	})
	held = c.keep(leading, held, sent, done)
	if held == nil && ctx.Err() == nil {
		end(errLost)
	}
	acting.Wait()
	if errors.Is(context.Cause(leading), errLost) {
		return errLost
	}
	if held != nil {
		c.giveBack(context.WithoutCancel(ctx), held)
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// keep renews the lease until ctx is done, or done is closed, and returns it then; nil when it is lost.
func (c *candidate) keep(ctx context.Context, held *coordinationv1.Lease, sent time.Time, done <-chan struct{}) *coordinationv1.Lease {
	deadline := sent.Add(c.RenewDeadline)
	for {
		if !c.pause(ctx, min(c.RetryPeriod, max(deadline.Sub(c.Clock.Now()), 0)), done) || closed(done) {
			return held
		}
		if cached, found := c.leases.Indexer().Get(c.key); found && cached.ResourceVersion == held.ResourceVersion && c.Clock.Since(sent) < c.RetryPeriod {
			continue // it was our own write that woke us up
		}
		now := c.Clock.Now()
		left := deadline.Sub(now)
		if left <= 0 {
			return nil
		}
		renewed, ours := c.renew(ctx, held, left)
		switch {
		case !ours:
			return nil
		case renewed != nil && c.Clock.Now().Before(deadline):
			held, sent, deadline = renewed, now, now.Add(c.RenewDeadline)
		}
	}
}

func closed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// renew renews the lease. It reports false when it is somebody else's, and returns nil when nobody knows.
func (c *candidate) renew(ctx context.Context, held *coordinationv1.Lease, left time.Duration) (renewed *coordinationv1.Lease, ours bool) {
	ctx, cancel := c.within(ctx, left)
	defer cancel()
	renewed, err := c.write(ctx, held)
	if err == nil {
		return renewed, true
	}
	c.Logger.Debug("lease not renewed", "lease", c.key.String(), "error", err)
	now, err := c.get(ctx)
	if err != nil {
		return nil, true
	}
	if now != nil && ptr.Deref(now.Spec.HolderIdentity, "") != c.Identity {
		c.look(now)
		return nil, false
	}
	if renewed, err = c.write(ctx, now); err != nil { // an earlier write came through, or somebody has deleted it
		return nil, true
	}
	return renewed, true
}
