package informer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/internal/timing"
)

// AddHandler has h told what the store holds, and from then on every change, until ctx is
// done, [Registration.Remove] is called or the informer stops. It may be called before, during
// and, with an error that wraps listwatch.ErrStopped, after Run, also from inside a handler.
func (i *Informer[T]) AddHandler(ctx context.Context, h Handler[T], o HandlerOptions) (*Registration, error) {
	o = o.withDefaults(i.options.Resync)
	err := o.validate()
	if h == nil {
		err = errors.Join(err, errors.New("no function"))
	}
	if ctx.Err() != nil {
		err = errors.Join(err, context.Cause(ctx))
	}
	if err != nil {
		return nil, fmt.Errorf("informer %s: handler %s: %w", i.options.Name, o.Name, err)
	}
	d := &delivery[T]{
		i: i, handler: h, options: o, added: ctx,
		box: mailbox[T]{fold: o.Policy == Coalesce, same: i.same}, syncAt: math.MaxUint64,
	}
	d.reg.of = d
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.state == isStopped {
		return nil, fmt.Errorf("informer %s: handler %s: %w", i.options.Name, o.Name, listwatch.ErrStopped)
	}
	i.admitLocked(d)
	if i.state == isRunning {
		i.armResyncLocked(d)
	}
	return &d.reg, nil
}

// admitLocked gives a new handler the state of the store and the log from there on.
func (i *Informer[T]) admitLocked(d *delivery[T]) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.unhook = context.AfterFunc(d.added, d.leave)
	d.cursor = cursor[T]{node: i.log.end}
	last := i.log.seq() - 1
	states := i.store.Reader().States()
	for n := range states {
		d.box.hold(Change[T]{Type: Add, Key: states[n].Head.Key, Initial: true}, &states[n], last)
	}
	if i.complete {
		d.syncAt = last
	}
	i.deliveries = append(i.deliveries, d)
	if i.complete || d.box.len > 0 {
		d.startLocked()
	}
}

// remove ends a delivery. It leaves the informer after that, so that Run can wait for it.
func (i *Informer[T]) remove(d *delivery[T], err error) {
	d.end(err)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.dropLocked(d)
}

func (i *Informer[T]) dropLocked(d *delivery[T]) {
	for n, other := range i.deliveries {
		if other == d {
			i.deliveries = slices.Concat(i.deliveries[:n], i.deliveries[n+1:]) // somebody may range over it
			return
		}
	}
}

func (i *Informer[T]) same(a, b T) bool {
	uid := i.uid(a)
	return uid != "" && uid == i.uid(b)
}

func (i *Informer[T]) logEnd() uint64 {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.log.seq()
}

// armResyncLocked has the handler resynced a period from now, and again after that.
func (i *Informer[T]) armResyncLocked(d *delivery[T]) {
	if d.options.Resync <= 0 {
		return
	}
	stop := timing.AfterFunc(i.options.Clock, d.options.Resync, func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		if i.state != isRunning || d.added.Err() != nil {
			return
		}
		d.resync(i.store.Reader().States(), i.log.seq())
		i.armResyncLocked(d)
	})
	d.keepTimer(stop)
}
