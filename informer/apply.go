package informer

import (
	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/deltafifo"
	"github.com/seed3bce33ad/listwatch/indexer"
)

// apply stores a batch and appends to the log what it changed. It is the only writer of both.
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
	exact := ""
	if b.Exact {
		exact = b.Version
	}

	i.faults.hold()
	i.mu.Lock()
	i.store.Apply(exact, i.writes)
	changes := i.changesLocked(b)
	if len(changes) > 0 {
		i.log.append(changes)
		i.stats.Changes += uint64(len(changes))
		i.stats.LastChange = i.now()
	}
	fire := i.moveLocked(b)
	i.wakeLocked()
	if b.Synced && !i.complete {
		i.complete = true
		for _, d := range i.deliveries {
			d.syncedAt(i.log.seq() - 1)
		}
	}
	i.mu.Unlock()

	i.faults.release()
	clear(i.writes)
	if b.Synced {
		i.synced.Fire()
	}
	for _, w := range fire {
		w.signal.Fire()
	}
	return nil
}

// changesLocked turns what the store made of the writes into what handlers are told.
func (i *Informer[T]) changesLocked(b deltafifo.Batch[T]) []Change[T] {
	changes := make([]Change[T], 0, len(i.writes))
	at := 0
	for _, item := range b.Items {
		for n := range item.Deltas {
			delta, w := &item.Deltas[n], &i.writes[at]
			at++
			switch {
			case !w.Applied:
				i.stats.Skipped++
			case w.Delete:
				changes = append(changes, Change[T]{Type: Delete, Key: item.Key, Object: w.Object, Old: w.Old, Unknown: delta.Unknown})
			case !w.Held:
				changes = append(changes, Change[T]{Type: Add, Key: item.Key, Object: w.Object, Initial: delta.Initial})
			case w.OldHead.UID != w.Head.UID && w.OldHead.UID != "" && w.Head.UID != "":
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

// moveLocked moves the version, and returns the signals that this fires.
func (i *Informer[T]) moveLocked(b deltafifo.Batch[T]) []waiter {
	if b.Epoch != i.epoch {
		i.epoch, i.version = b.Epoch, b.Version
		return i.waiters.all()
	}
	if b.Version == "" || b.Version == i.version {
		return nil
	}
	if c, err := listwatch.CompareVersions(b.Version, i.version); err == nil && c < 0 {
		return nil
	}
	i.version = b.Version
	return i.waiters.reached(b.Version)
}

// wakeLocked lets the handlers know, and ends those that fell too far behind.
func (i *Informer[T]) wakeLocked() {
	end := i.log.seq()
	for _, d := range i.deliveries {
		if err := d.wake(end); err != nil {
			i.dropLocked(d)
			d.end(err)
			i.options.Logger.Error("handler ended", "informer", i.options.Name, "handler", d.options.Name, "error", err)
		}
	}
}
