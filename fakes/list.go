package fakes

import (
	"context"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/seed3bce33ad/listwatch"
)

// List delivers the objects of the collection, or of one page of it, ordered by
// "namespace/name". It implements [listwatch.ListerWatcher].
//
// All pages of a list show the state of the first one. A limit is not looked at together with
// [listwatch.MatchNotOlder] and "0". Known is asked for every object. Errors are
// [*listwatch.StatusError]: 410 wraps [listwatch.ErrExpired], for a version or a token older
// than the history; 504 [listwatch.ErrTooLargeVersion], for a version from the future; 400 and
// 422 [listwatch.ErrUnsupported], for options that make no sense.
func (s *Source[T]) List(ctx context.Context, o listwatch.ListOptions, each func(...T) error) (listwatch.ListMeta, error) {
	return (&view[T]{source: s, match: s.o.Select}).List(ctx, o, each)
}

// List is [Source.List] of what is selected.
func (v *view[T]) List(ctx context.Context, o listwatch.ListOptions, each func(...T) error) (listwatch.ListMeta, error) {
	s := v.source
	if err := s.beginList(ctx, o); err != nil {
		return listwatch.ListMeta{}, err
	}
	from, limit, err := s.resolve(ctx, o)
	if err != nil {
		return listwatch.ListMeta{}, err
	}
	states, err := s.sorted(from.Version)
	if err != nil {
		return listwatch.ListMeta{}, err
	}
	page, rest := v.page(states, from, limit)
	meta := listwatch.ListMeta{ResourceVersion: format(from.Version)}
	if len(rest) > 0 {
		last := page[len(page)-1]
		meta.Continue = token{Version: from.Version, Namespace: last.key.Namespace, Name: last.key.Name}.String()
		if v.match == nil {
			meta.Remaining = int64(len(rest))
		}
	}
	if err := v.deliver(ctx, o.Known, page, each); err != nil {
		return listwatch.ListMeta{}, err
	}
	if after := s.o.Hooks.AfterList; after != nil {
		if err := after(ctx, meta); err != nil {
			return listwatch.ListMeta{}, err
		}
	}
	return meta, nil
}

func (s *Source[T]) beginList(ctx context.Context, o listwatch.ListOptions) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s.mu.Lock()
	err := s.faults.takeFailure(VerbList)
	s.mu.Unlock()
	if err != nil {
		return err
	}
	if before := s.o.Hooks.BeforeList; before != nil {
		return before(ctx, o)
	}
	return nil
}

// resolve says what state a list shows, where its page begins and how long it may be; 0 is
// without end.
func (s *Source[T]) resolve(ctx context.Context, o listwatch.ListOptions) (token, int64, error) {
	if o.Continue != "" {
		from, err := parseToken(o.Continue)
		return from, o.Limit, err
	}
	if o.Match == listwatch.MatchLatest {
		return token{Version: s.newest()}, o.Limit, nil
	}
	if o.ResourceVersion == "" {
		return token{}, 0, Status(422, "resourceVersionMatch is forbidden unless resourceVersion is provided")
	}
	version, err := parse(o.ResourceVersion)
	if err != nil {
		return token{}, 0, err
	}
	if version == 0 && o.Match == listwatch.MatchExact {
		return token{}, 0, Status(422, "resourceVersionMatch Exact is forbidden for resourceVersion 0")
	}
	switch o.Match {
	case listwatch.MatchNotOlder:
		if version == 0 {
			o.Limit = 0
		}
		served, err := s.await(ctx, version, true)
		return token{Version: served}, o.Limit, err
	case listwatch.MatchExact:
		_, err := s.await(ctx, version, false)
		return token{Version: version}, o.Limit, err
	}
	return token{}, 0, Status(422, "unknown resourceVersionMatch")
}

// page cuts states where limit selected ones after from are full, and leaves out what is not
// selected. Whether the rest holds a selected one is not known, so a last page may be empty.
func (v *view[T]) page(states []*state[T], from token, limit int64) (page, rest []*state[T]) {
	if from.Name != "" {
		after := listwatch.Key{Namespace: from.Namespace, Name: from.Name}
		path := after.String()
		at, found := slices.BinarySearchFunc(states, after, func(st *state[T], _ listwatch.Key) int {
			return st.compare(path, after)
		})
		if found {
			at++
		}
		states = states[at:]
	}
	for i, st := range states {
		if limit > 0 && int64(len(page)) == limit {
			return page, states[i:]
		}
		if v.match == nil || v.match(st.object) {
			page = append(page, st)
		}
	}
	return page, nil
}

// deliver hands out copies of states, in batches.
func (v *view[T]) deliver(ctx context.Context, known func(listwatch.Head) bool, states []*state[T], each func(...T) error) error {
	batch := make([]T, 0, min(batchSize, len(states)))
	for i, st := range states {
		if known == nil || !known(v.source.head(st)) {
			batch = append(batch, v.source.copyOf(st))
		}
		if len(batch) < batchSize && i+1 < len(states) || len(batch) == 0 {
			continue
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := each(batch...); err != nil {
			return err
		}
		clear(batch) // the slice was only lent
		batch = batch[:0]
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// token says where a page begins: behind an object, in the state at a version.
type token struct {
	Version         uint64
	Namespace, Name string
}

func (t token) String() string {
	return base64.RawURLEncoding.EncodeToString([]byte(strings.Join([]string{format(t.Version), t.Namespace, t.Name}, "\x00")))
}

func parseToken(s string) (token, error) {
	text, err := base64.RawURLEncoding.DecodeString(s)
	parts := strings.SplitN(string(text), "\x00", 3)
	if err != nil || len(parts) != 3 || parts[2] == "" {
		return token{}, Status(400, "invalid continue token")
	}
	version, err := parse(parts[0])
	if err != nil {
		return token{}, Status(400, "invalid continue token")
	}
	return token{Version: version, Namespace: parts[1], Name: parts[2]}, nil
}
