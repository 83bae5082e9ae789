package deltafifo

// gap is what the source says it has lost. It is guarded by the queue's lock.
type gap struct {
	open bool
	// repaired: a list shows what was lost, but its sweep waits for the position.
	repaired bool
	// end is the number of the last item of the repair.
	end uint64
}

// Lost notes that the source has lost something that happened, or that the last snapshot that was
// committed repairs all it has lost. Until the repair is handed out, a [Batch] has Gap. A loss must
// be told before the events that come after it, a repair after the Commit. It doesn't block.
func (q *DeltaFIFO[T]) Lost(open bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.gap.repaired = !open
	q.gap.open = q.gap.open || open
	q.mendLocked()
	q.wakeLocked()
}

// mendLocked ends the gap with what is queued now, if that repairs it.
func (q *DeltaFIFO[T]) mendLocked() {
	if q.gap.open && q.gap.repaired && q.sweep == nil {
		q.gap = gap{end: q.seq}
	}
}
