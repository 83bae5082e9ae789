package simulation_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed3bce33ad/listwatch"
)

// counted is a client's way to the server. It finds calls that nobody may make, and requests
// without a pause.
type counted struct {
	listwatch.ListerWatcher[*object]
	c     *client
	calls atomic.Int64

	mu sync.Mutex
	// at is the latest moment of a request, many the number of requests at it.
	at   time.Time
	many int
}

// spin is how many requests at one moment are a hot loop: pages, and what a burst of failures
// that are answered at once leads to, are less.
const spin = 60

// begin notes a request. It holds up one that is part of a hot loop until ctx is done.
func (s *counted) begin(ctx context.Context) {
	if s.c.gone.Load() {
		s.c.Fail(nothing, "informer %s makes a request after Run has returned", s.c.name)
	}
	s.calls.Add(1)
	s.mu.Lock()
	if now := s.c.Now(); !now.Equal(s.at) {
		s.at, s.many = now, 0
	}
	s.many++
	many := s.many
	s.mu.Unlock()
	if many > spin {
		s.c.Fail(position, "informer %s makes %d requests at one moment", s.c.name, many)
		<-ctx.Done()
	}
}

func (s *counted) List(ctx context.Context, o listwatch.ListOptions, each func(...*object) error) (listwatch.ListMeta, error) {
	s.begin(ctx)
	defer s.calls.Add(-1)
	return s.ListerWatcher.List(ctx, o, each)
}

func (s *counted) Watch(ctx context.Context, o listwatch.WatchOptions, each func(...listwatch.Event[*object]) error) error {
	s.begin(ctx)
	defer s.calls.Add(-1)
	return s.ListerWatcher.Watch(ctx, o, each)
}

const opaquePrefix = "v"

// opaque is a source whose versions have no order that a client could see.
type opaque struct {
	source listwatch.ListerWatcher[*object]
}

func hide(version string) string {
	if version == "" {
		return ""
	}
	return opaquePrefix + version
}

func bare(version string) string { return strings.TrimPrefix(version, opaquePrefix) }

func hideIn(o *object) {
	if o != nil {
		o.ResourceVersion = hide(o.ResourceVersion)
	}
}

func hideKnown(known func(listwatch.Head) bool) func(listwatch.Head) bool {
	if known == nil {
		return nil
	}
	return func(h listwatch.Head) bool {
		h.ResourceVersion = hide(h.ResourceVersion)
		return known(h)
	}
}

func hideRefused(refused func(listwatch.Head, error) error) func(listwatch.Head, error) error {
	if refused == nil {
		return nil
	}
	return func(h listwatch.Head, err error) error {
		h.ResourceVersion = hide(h.ResourceVersion)
		return refused(h, err)
	}
}

func (s opaque) List(ctx context.Context, o listwatch.ListOptions, each func(...*object) error) (listwatch.ListMeta, error) {
	o.ResourceVersion = bare(o.ResourceVersion)
	o.Known, o.Refused = hideKnown(o.Known), hideRefused(o.Refused)
	meta, err := s.source.List(ctx, o, func(objects ...*object) error {
		for _, o := range objects {
			hideIn(o)
		}
		return each(objects...)
	})
	meta.ResourceVersion = hide(meta.ResourceVersion)
	return meta, err
}

func (s opaque) Watch(ctx context.Context, o listwatch.WatchOptions, each func(...listwatch.Event[*object]) error) error {
	o.ResourceVersion = bare(o.ResourceVersion)
	o.Known, o.Refused = hideKnown(o.Known), hideRefused(o.Refused)
	return s.source.Watch(ctx, o, func(events ...listwatch.Event[*object]) error {
		for i := range events {
			hideIn(events[i].Object)
			events[i].ResourceVersion = hide(events[i].ResourceVersion)
		}
		return each(events...)
	})
}
