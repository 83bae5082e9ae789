package informer

import (
	"fmt"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/deltafifo"
	"github.com/seed3bce33ad/listwatch/indexer"
)

// apply stores a batch and tells everybody. It is the only writer of the store and the log.
func (i *Informer[T]) apply(b deltafifo.Batch[T]) error {
	i.writes = i.writes[:0]
	for _, item := range b.Items {
		for n := range item.Deltas {
			d := &item.Deltas[n]
			i.writes = append(i.writes, indexer.Write[T]{
				Head: d.Head, Object: d.Object, Delete: d.Type == deltafifo.Deleted, Force: d.Force, Mark: d.Mark,
			})
		}
	}
	first := b.Synced && !i.complete // most informers never see as much again as with the first list
	i.prefetch()
	fire, ended := i.advance(b)
	clear(i.writes)
	clear(i.changes)
	if first || cap(i.writes) > keepWrites {
		i.writes, i.changes = nil, nil
	}
	for _, err := range ended {
		i.options.report(err)
	}
	if b.Synced {
		i.fire(&i.synced)
	}
	for _, w := range fire {
		i.fire(w.signal)
	}
	i.store.Pack()
	return nil
}

// prefetch has a compact store decode what the writes replace, before the lock is taken under which
// handlers are told of it.
func (i *Informer[T]) prefetch() {
	if !i.options.Compact || !i.heard() {
		return
	}
	for n := range i.writes {
		i.store.Get(i.writes[n].Head.Key)
	}
}

// heard reports whether there is a handler.
func (i *Informer[T]) heard() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return len(i.deliveries) > 0
}

// advance makes the writes, moves the version, appends to the log what was changed, and lets
// handlers know. It returns the signals that this fires, and why handlers were ended. An index
// function may end the goroutine.
func (i *Informer[T]) advance(b deltafifo.Batch[T]) (fire []waiter, ended []error) {
	exact := ""
	if b.Exact {
		exact = b.Version
	}
	i.faults.hold()
	defer i.releaseFaults()
	i.mu.Lock()
	defer i.mu.Unlock()
	for n := range i.writes {
		i.writes[n].NoOld = len(i.deliveries) == 0
	}
	i.store.Apply(exact, i.writes)
	i.changes = i.changesLocked(b, i.changes[:0])
	fire = i.moveLocked(b)
	for _, o := range i.overlays {
		o.follow(i.writes, i.version, i.epoch)
	}
	// From here on a handler that is running may read the changes.
	if len(i.changes) > 0 {
		i.log.append(i.changes)
		i.stats.Changes += uint64(len(i.changes))
		i.stats.LastChange = i.now()
	}
	if b.Synced && !i.complete {
		i.complete = true
		for _, d := range i.deliveries {
			d.syncedAt(i.log.seq() - 1)
		}
	}
	return fire, i.wakeLocked()
}

// changesLocked turns what the store made of the writes into what handlers are told.
func (i *Informer[T]) changesLocked(b deltafifo.Batch[T], changes []Change[T]) []Change[T] {
	at := 0
	for _, item := range b.Items {
		for n := range item.Deltas {
			delta, w := &item.Deltas[n], &i.writes[at]
			at++
			switch {
			case !w.Applied:
				i.stats.Skipped++
			case w.Delete && otherIdentity(w): // nobody was told of the life that ends here
				changes = append(changes, Change[T]{Type: Delete, Key: item.Key, Object: w.Old, Old: w.Old, Unknown: true})
			case w.Delete:
				changes = append(changes, Change[T]{Type: Delete, Key: item.Key, Object: w.Object, Old: w.Old, Unknown: delta.Unknown})
			case !w.Held:
				changes = append(changes, Change[T]{Type: Add, Key: item.Key, Object: w.Object, Initial: delta.Initial})
			case otherIdentity(w):
				changes = append(changes,
					Change[T]{Type: Delete, Key: item.Key, Object: w.Old, Old: w.Old, Unknown: true},
					Change[T]{Type: Add, Key: item.Key, Object: w.Object, Initial: delta.Initial})
			default:
				changes = append(changes, Change[T]{Type: Update, Key: item.Key, Object: w.Object, Old: w.Old})
			}
		}
	}
	return changes
}

// otherIdentity reports whether what was held is known to be another object than what is written.
func otherIdentity[T listwatch.Object](w *indexer.Write[T]) bool {
	return w.OldHead.UID != w.Head.UID && w.OldHead.UID != "" && w.Head.UID != ""
}

// moveLocked moves the version, and returns the signals that this fires. Within an epoch the queue's only grows.
func (i *Informer[T]) moveLocked(b deltafifo.Batch[T]) (fire []waiter) {
	if b.Epoch != i.epoch {
		i.epoch, i.version = b.Epoch, b.Version
		return i.waiters.all()
	}
	if b.Version == "" || b.Gap && !isOpaque(b.Version) {
		return nil
	}
	w := i.waiters
	if isOpaque(b.Version) { // it says nothing of the others that the batch has passed
		w = i.someWaitersLocked()
		for n := range i.writes {
			fire = append(fire, w.reachedExactly(i.writes[n].Head.ResourceVersion)...)
		}
	}
	if b.Version == i.version {
		return fire
	}
	i.version = b.Version
	return append(fire, w.reached(b.Version)...)
}

// wakeLocked lets the handlers know, ends those that fell too far behind, and returns why.
func (i *Informer[T]) wakeLocked() (ended []error) {
	end, objects := i.log.seq(), uint64(i.store.Reader().Len())
	for _, d := range i.deliveries {
		if err := d.wake(end, objects); err != nil {
			i.dropLocked(d)
			d.end(err)
			ended = append(ended, fmt.Errorf("informer %s: %s: %w", i.options.Name, d.options.Name, err))
		}
	}
	return ended
}
