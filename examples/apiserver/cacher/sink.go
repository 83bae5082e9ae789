package cacher

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/seed3bce33ad/listwatch"
)

// sink is where the reflector writes to.
type sink struct {
	cache *Cache
	// lost has everything read anew.
	lost func()
}

// Apply moves the store and the history on, and then wakes who waits.
func (s *sink) Apply(_ context.Context, events ...listwatch.Event[*Entry]) error {
	c := s.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range events {
		revision, err := strconv.ParseInt(e.ResourceVersion, 10, 64)
		if err != nil {
			return fmt.Errorf("cacher: %w", err) // the source writes none such
		}
		if e.Type != listwatch.Bookmark {
			c.changeLocked(e, revision)
		}
		c.position = revision
	}
	c.moved = wake(c.moved)
	return nil
}

func (c *Cache) changeLocked(e listwatch.Event[*Entry], revision int64) {
	change := &Event{Key: e.Object.Key, Revision: revision}
	if e.Type == listwatch.Deleted {
		change.Previous, _ = c.tree.Delete(e.Object)
		if change.Previous == nil {
			return // written and deleted again in one revision, of which etcd tells the end
		}
	} else {
		change.Current = e.Object
		change.Previous, _ = c.tree.ReplaceOrInsert(e.Object)
	}
	c.shared = nil
	c.history.add(change)
	c.changed = wake(c.changed)
}

// wake closes a channel that somebody waits for.
func wake(waited chan struct{}) chan struct{} {
	if waited != nil {
		close(waited)
	}
	return nil
}

// Begin begins a list.
func (s *sink) Begin(listwatch.Mode) listwatch.Snapshot[*Entry] {
	return &snapshot{cache: s.cache, tree: newTree()}
}

// Lost cannot happen with this source, which refuses nothing. If it does, all is read anew.
func (s *sink) Lost(open bool) {
	if open {
		s.lost()
	}
}

// snapshot is a list on its way in. It replaces everything at once.
type snapshot struct {
	cache *Cache
	tree  *tree
	ended bool
}

func (s *snapshot) Known(listwatch.Head) bool { return false }

func (s *snapshot) Put(_ context.Context, entries ...*Entry) error {
	if s.ended {
		return listwatch.ErrStopped
	}
	for _, e := range entries {
		s.tree.ReplaceOrInsert(e)
	}
	return nil
}

// Commit begins a new epoch: what lies between what was held and what was listed is not known, so the history
// begins here and running watches end.
func (s *snapshot) Commit(version string) error {
	if s.ended {
		return listwatch.ErrStopped
	}
	revision, err := strconv.ParseInt(version, 10, 64)
	if err != nil || revision <= 0 {
		return errors.Join(fmt.Errorf("cacher: version %q", version), err)
	}
	s.ended = true
	c := s.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tree, c.shared, c.position = s.tree, nil, revision
	c.epoch++
	c.history.begin(revision)
	c.changed, c.moved = wake(c.changed), wake(c.moved)
	return nil
}

func (s *snapshot) Abort() { s.ended = true }

// began reports whether a list has ever been taken.
func (c *Cache) began() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.position > 0
}

// setPresent has reads wait for a revision that a list has seen.
func (c *Cache) setPresent(revision int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.present = revision
}
