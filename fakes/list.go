package fakes

import (
	"context"
	"slices"

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
	l, err := v.beginList(ctx, o)
	if err != nil {
		return listwatch.ListMeta{}, err
	}
	defer s.endCall(l.call)
	defer l.bell.stop()
	if before := s.o.Hooks.BeforeList; before != nil {
		if err := before(ctx, o); err != nil {
			return listwatch.ListMeta{}, err
		}
	}
	if err := s.pass(ctx, l.call, l.bell); err != nil {
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
	page, meta := v.page(states, from, limit)
	if err := l.deliver(ctx, page, each); err != nil {
		return listwatch.ListMeta{}, err
	}
	if after := s.o.Hooks.AfterList; after != nil {
		if err := after(ctx, meta); err != nil {
			return listwatch.ListMeta{}, err
		}
	}
	if err := s.pass(ctx, l.call, l.bell); err != nil {
		return listwatch.ListMeta{}, err
	}
	return meta, nil
}

// listing is one list that runs.
type listing[T listwatch.Object] struct {
	source *Source[T]
	call   *call
	bell   *alarm
	o      listwatch.ListOptions
}

func (v *view[T]) beginList(ctx context.Context, o listwatch.ListOptions) (*listing[T], error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	s := v.source
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.faults.failure(VerbList); err != nil {
		return nil, err
	}
	return &listing[T]{source: s, call: s.beginLocked(VerbList), bell: newAlarm(s.o.Clock), o: o}, nil
}

// resolve says what state a list shows, where its page begins and how long it may be; 0 is
// without end.
func (s *Source[T]) resolve(ctx context.Context, o listwatch.ListOptions) (token, int64, error) {
	if o.Continue != "" {
		from, err := parseToken(o.Continue)
		if err == nil && s.expired(from) {
			err = Status(410, "The provided continue parameter is too old to display a consistent list result.")
		}
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
		served, err := s.await(ctx, version, VerbList)
		return token{Version: served}, o.Limit, err
	case listwatch.MatchExact:
		_, err := s.await(ctx, version, 0)
		return token{Version: version}, o.Limit, err
	}
	return token{}, 0, Status(422, "unknown resourceVersionMatch")
}

func (s *Source[T]) expired(t token) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return t.number <= s.faults.expired
}

// page returns the objects of a page, and what the list says about itself.
func (v *view[T]) page(states []*state[T], from token, limit int64) ([]*state[T], listwatch.ListMeta) {
	meta := listwatch.ListMeta{ResourceVersion: format(from.Version)}
	states = after(from, states)
	s := v.source
	s.mu.Lock()
	short := s.faults.lasts(VerbList, FaultShortPages)
	s.tokens++
	next := token{Version: from.Version, number: s.tokens}
	s.mu.Unlock()
	if short != nil && limit > 0 {
		if next.empty = !from.empty; next.empty && len(states) > 0 {
			next.Namespace, next.Name = from.Namespace, from.Name
			meta.Continue = next.String()
			return nil, meta
		}
		if most := int64(short.N); most > 0 {
			limit = min(limit, most)
		} else {
			limit = (limit + 1) / 2
		}
	}
	page, rest := v.cut(states, limit)
	if len(rest) > 0 {
		last := page[len(page)-1]
		next.Namespace, next.Name = last.key.Namespace, last.key.Name
		meta.Continue = next.String()
		if v.match == nil {
			meta.Remaining = int64(len(rest))
		}
	}
	return page, meta
}

// cut cuts states where limit selected ones are full, and leaves out what is not selected.
// Whether the rest holds a selected one is not known, so a last page may be empty.
func (v *view[T]) cut(states []*state[T], limit int64) (page, rest []*state[T]) {
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

// deliver hands out copies of states, in batches, with the faults of a list.
func (l *listing[T]) deliver(ctx context.Context, states []*state[T], each func(...T) error) error {
	s := l.source
	s.mu.Lock()
	_, again := s.faults.take(VerbList, FaultRepeatPage)
	i := slices.IndexFunc(s.faults.waiting, func(o order) bool { return o.Kind == FaultPartialList })
	var broken order
	if i >= 0 {
		broken = s.faults.waiting[i]
		s.faults.waiting = slices.Delete(s.faults.waiting, i, i+1)
	}
	s.mu.Unlock()
	if again {
		states = slices.Concat(states, states)
	}
	if i >= 0 {
		states = states[:min(broken.N, len(states))]
	}
	if err := l.send(ctx, states, each); err != nil {
		return err
	}
	return broken.err()
}

// send hands out what is not known and can be taken.
func (l *listing[T]) send(ctx context.Context, states []*state[T], each func(...T) error) error {
	s := l.source
	s.mu.Lock()
	spoiling := s.faults.waits(VerbList, spoilers...)
	s.mu.Unlock()
	batch := make([]T, 0, min(batchSize, len(states)))
	for i, st := range states {
		head, ok := s.head(st), true
		if spoiling {
			var err error
			if ok, err = s.spoiled(VerbList, head, l.o.Refused); err != nil {
				return err
			}
		}
		if ok && (l.o.Known == nil || !l.o.Known(head)) {
			batch = append(batch, s.copyOf(st))
		}
		if len(batch) < batchSize && i+1 < len(states) || len(batch) == 0 {
			continue
		}
		if err := l.flush(ctx, batch, each); err != nil {
			return err
		}
		clear(batch) // the slice was only lent
		batch = batch[:0]
	}
	return nil
}

// flush hands out one batch.
func (l *listing[T]) flush(ctx context.Context, batch []T, each func(...T) error) error {
	if err := l.source.slow(ctx, VerbList); err != nil {
		return err
	}
	if err := l.source.pass(ctx, l.call, l.bell); err != nil {
		return err
	}
	return each(batch...)
}
