package cacher

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/storage"
)

// source is the collection in etcd as the reflector reads it.
type source struct{ cache *Cache }

// listSize is how many objects are read from etcd at once. What etcd sent is dropped before more is read.
const listSize = 500

// List delivers the collection of one revision, page by page. The first list is one of the past, later ones are of now.
func (s source) List(ctx context.Context, o listwatch.ListOptions, each func(...*Entry) error) (listwatch.ListMeta, error) {
	c := s.cache
	back := c.options.Backfill
	if c.began() || o.Match != listwatch.MatchLatest {
		back = 0
	}
	oldest, newest, err := c.store.Oldest(ctx, max(back, 0))
	if err != nil {
		return listwatch.ListMeta{}, classify(err)
	}
	if asked, err := strconv.ParseInt(o.ResourceVersion, 10, 64); err == nil && asked > newest && o.Match == listwatch.MatchNotOlder {
		return listwatch.ListMeta{}, fmt.Errorf("%w: %d, etcd has %d", listwatch.ErrTooLargeVersion, asked, newest)
	}
	for at := (storage.ListOptions{Revision: oldest, Limit: listSize}); ; {
		page, err := c.store.List(ctx, c.prefix, at)
		if err != nil {
			return listwatch.ListMeta{}, classify(err)
		}
		if at.From == "" {
			c.setPresent(newest)
		}
		entries := make([]*Entry, len(page.Entries))
		for i, e := range page.Entries {
			entries[i] = NewEntry(e.Key[len(c.prefix):], e.Value, e.Revision, c.options.Stamp)
		}
		if err := each(entries...); err != nil || page.Remaining == 0 {
			return listwatch.ListMeta{ResourceVersion: format(page.Revision)}, err
		}
		at.Revision, at.From = page.Revision, page.Entries[len(page.Entries)-1].Key[len(c.prefix):]+"\x00"
	}
}

// Watch delivers events, and bookmarks when the position was asked for.
func (s source) Watch(ctx context.Context, o listwatch.WatchOptions, each func(...listwatch.Event[*Entry]) error) error {
	if o.InitialEvents {
		return listwatch.ErrUnsupported
	}
	after, err := strconv.ParseInt(o.ResourceVersion, 10, 64)
	if err != nil {
		return fmt.Errorf("%w: %w", listwatch.ErrExpired, err)
	}
	c := s.cache
	ended := errors.New("the time of the watch is over")
	ctx, cancel := context.WithTimeoutCause(ctx, min(o.Timeout, time.Duration(math.MaxInt64)), ended)
	defer cancel()
	err = c.store.Watch(ctx, c.prefix, storage.WatchOptions{After: after, Progress: c.progress, WithoutPrevious: true},
		func(b storage.Batch) error { return each(c.events(b)...) })
	if errors.Is(err, ended) {
		return nil
	}
	return classify(err)
}

// events turns a batch of the store into events of the reflector.
func (c *Cache) events(b storage.Batch) []listwatch.Event[*Entry] {
	events := make([]listwatch.Event[*Entry], 0, len(b.Events)+1)
	for _, e := range b.Events {
		event := listwatch.Event[*Entry]{Type: listwatch.Modified, ResourceVersion: format(e.Revision)}
		if key := e.Key[len(c.prefix):]; e.Value == nil {
			event.Type = listwatch.Deleted
			event.Object = &Entry{Key: key, Revision: e.Revision}
		} else {
			event.Object = NewEntry(key, e.Value, e.Revision, c.options.Stamp)
		}
		events = append(events, event)
	}
	if len(b.Events) == 0 || b.Events[len(b.Events)-1].Revision < b.Revision {
		events = append(events, listwatch.Event[*Entry]{Type: listwatch.Bookmark, ResourceVersion: format(b.Revision)})
	}
	return events
}

func classify(err error) error {
	switch {
	case errors.Is(err, storage.ErrCompacted):
		return fmt.Errorf("%w: %w", listwatch.ErrExpired, err)
	case err != nil:
		return fmt.Errorf("%w: %w", listwatch.ErrUnavailable, err)
	}
	return nil
}
