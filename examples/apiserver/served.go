package apiserver

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/crd"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
)

// table is what is served at one time. It never changes.
type table struct {
	kinds kinds.Kinds
	// descriptions are those of the kinds in OpenAPI, by name.
	descriptions func() (map[string]described, error)
}

// kinds returns the kinds that are served now.
func (s *Server) kinds() kinds.Kinds { return s.table.Load().kinds }

// publish has the kinds of definitions served beside those of the options.
func (s *Server) publish(defined kinds.Kinds) {
	t := &table{kinds: slices.Concat(s.options.Kinds, defined)}
	t.descriptions = sync.OnceValues(func() (map[string]described, error) {
		all, err := s.builtin()
		if err != nil {
			return nil, err
		}
		more, err := describe(t.kinds, defined.GroupVersions())
		all = maps.Clone(all)
		maps.Copy(all, more)
		return all, err
	})
	s.table.Store(t)
}

// serveDefined serves what definitions define, when there can be any, and returns when all that were there before
// are served.
func (s *Server) serveDefined(ctx context.Context) error {
	if k := crd.Kind(); !slices.ContainsFunc(s.options.Kinds, func(o *kinds.Kind) bool { return o.GroupVersionKind() == k.GroupVersionKind() }) {
		return nil
	}
	c := crd.New(s.registry, crd.Options{Publish: s.publish, Clock: s.options.Clock, Logger: s.options.Logger})
	for _, d := range s.options.Definitions {
		if err := c.Ensure(ctx, d); err != nil {
			return fmt.Errorf("definition %s: %w", d.Name, err)
		}
	}
	s.running.Go(func() {
		if err := c.Run(s.closing); err != nil && s.closing.Err() == nil {
			s.options.Logger.Error("definitions are not served any more", "error", err)
		}
	})
	return c.WaitForPublished(ctx)
}
