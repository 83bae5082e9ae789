package cacher

// Watch is a place in the history of a [Cache]. It holds nothing, so it need not be closed.
type Watch struct {
	cache *Cache
	// after is the revision up to which nothing is delivered.
	after  int64
	number uint64 // of the next event
	epoch  uint64
}

// Watch returns a watch of what changes behind a revision, or a [*TooOldError]. One in the future is
// silent until then. The cache must have been waited for.
func (c *Cache) Watch(after int64) (*Watch, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if after < c.history.oldest {
		return nil, &TooOldError{Asked: after, Oldest: c.history.oldest}
	}
	return &Watch{cache: c, after: after, number: c.history.behind(after), epoch: c.epoch}, nil
}

// Now returns a watch of what changes from now on, and its start.
func (c *Cache) Now() (*Watch, int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return &Watch{cache: c, after: c.position, number: c.history.next(), epoch: c.epoch}, c.position
}

// Take returns the next events, at most so many, without waiting for them; and the position: everything up to
// that revision has been taken then. It is less than the start of a watch from the future. When there are none, more is closed as soon as there are. The error is
// [ErrSlow] or [ErrAnew], for ever after.
//
// The slice is shared and must not be changed. Holding it keeps those events in memory.
func (w *Watch) Take(limit int) (events []*Event, position int64, more <-chan struct{}, err error) {
	c := w.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	if w.epoch != c.epoch {
		return nil, 0, nil, ErrAnew
	}
	events, ok := c.history.from(w.number, limit)
	if !ok {
		return nil, 0, nil, ErrSlow
	}
	w.number += uint64(len(events))
	position = c.position
	if w.number < c.history.next() {
		position = events[len(events)-1].Revision
	}
	for len(events) > 0 && events[0].Revision <= w.after {
		events = events[1:]
	}
	if len(events) > 0 {
		return events, position, nil, nil
	}
	if w.number < c.history.next() { // a whole lot was from before the start
		return nil, position, closed, nil
	}
	if c.changed == nil {
		c.changed = make(chan struct{})
	}
	return nil, position, c.changed, nil
}

var closed = func() chan struct{} { c := make(chan struct{}); close(c); return c }()
