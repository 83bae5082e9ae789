package rest

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/internal/worker"
)

// errEnded is the cause by which the streams end of which one has ended.
var errEnded = errors.New("the watch of another namespace has ended")

// request is a call of the consumer's that a stream wants to have made by the goroutine that
// called Watch: the consumer sees one goroutine, and no lock is held.
type request struct {
	run  func() error
	done chan error // has room for the answer
}

func (r request) serve() (err error) {
	err = errEnded // what a panic of run leaves behind
	defer func() { r.done <- err }()
	err = r.run()
	return err
}

// watchAll runs a stream for each namespace. The end of one is the end of all.
func (s *Source[T]) watchAll(ctx context.Context, o listwatch.WatchOptions, each func(...listwatch.Event[T]) error) error {
	m := newMerge(s, o, each)
	defer s.finish()
	requests := make(chan request)
	ends := make(chan error, len(s.paths))
	streams, cancel := context.WithCancelCause(ctx)
	var group worker.Group
	defer group.Wait()
	defer cancel(errEnded)

	do := func(run func() error) error {
		r := request{run: run, done: make(chan error, 1)}
		select {
		case requests <- r:
			return <-r.done
		case <-streams.Done():
			return context.Cause(streams)
		}
	}
	refused := o.Refused
	if refused != nil {
		o.Refused = func(head listwatch.Head, err error) error {
			return do(func() error { return refused(head, err) })
		}
	}
	for i, path := range s.paths {
		o := o
		if !o.InitialEvents && m.positions[i] != "" {
			o.ResourceVersion = m.positions[i]
		}
		group.Go(func() {
			ends <- s.watch(streams, path, o, func(events ...listwatch.Event[T]) error {
				return do(func() error { return m.take(i, events) })
			})
		})
	}
	for {
		select {
		case r := <-requests:
			if err := r.serve(); err != nil {
				return err // no other stream may get through meanwhile
			}
		case err := <-ends:
			return err
		}
	}
}

// merge makes one sequence of events of those of several namespaces.
//
// Its position is the oldest of the namespaces' own. An event bears its version only if that
// is where the position has moved to; a bookmark says so when it is another.
type merge[T listwatch.Object] struct {
	source    *Source[T]
	each      func(...listwatch.Event[T]) error
	refused   func(listwatch.Head, error) error
	positions []string // "": not known yet
	position  string   // the oldest of them that was handed on
	unsynced  int      // namespaces whose initial events are not complete
	batch     []listwatch.Event[T]
}

func newMerge[T listwatch.Object](s *Source[T], o listwatch.WatchOptions, each func(...listwatch.Event[T]) error) *merge[T] {
	version := o.ResourceVersion
	if o.InitialEvents || version == "0" {
		version = ""
	}
	m := &merge[T]{source: s, each: each, refused: o.Refused, position: version, positions: s.begin(version)}
	if o.InitialEvents {
		m.unsynced = len(s.paths)
	}
	return m
}

// take hands on what the stream of namespace i has yielded.
func (m *merge[T]) take(i int, events []listwatch.Event[T]) error {
	m.batch = m.batch[:0]
	before := m.positions[i]
	for _, event := range events {
		if again, err := m.again(event, before, m.positions[i]); err != nil {
			return err
		} else if again {
			continue
		}
		if event.ResourceVersion != "" {
			m.positions[i] = event.ResourceVersion
		}
		m.add(event)
	}
	if len(m.batch) > 0 {
		if err := m.each(m.batch...); err != nil {
			return err
		}
		clear(m.batch)
	}
	if m.position != "" {
		m.source.watched(m.position, m.positions)
	}
	return nil
}

// again reports whether the namespace has passed an event already. The consumer could not tell,
// since what is behind the oldest position has no version for it. Before is the namespace's
// position before the batch: several events may bear one version.
func (m *merge[T]) again(event listwatch.Event[T], before, position string) (bool, error) {
	switch version := event.ResourceVersion; {
	case version == "" || event.Type == listwatch.Synced:
		return false, nil
	case listwatch.Newer(position, version):
		head := listwatch.Head{ResourceVersion: version}
		if event.Type != listwatch.Bookmark {
			head.Key = listwatch.KeyOf(event.Object)
		}
		err := fmt.Errorf("%w: the version went back: %s after %s", listwatch.ErrProtocol, version, position)
		if m.refused != nil {
			err = m.refused(head, err)
		}
		return true, err
	default:
		return version == before && event.Type != listwatch.Bookmark, nil
	}
}

func (m *merge[T]) add(event listwatch.Event[T]) {
	if event.Type == listwatch.Synced {
		if m.unsynced--; m.unsynced == 0 {
			m.position = oldest(m.positions)
			m.batch = append(m.batch, listwatch.Event[T]{Type: listwatch.Synced, ResourceVersion: m.position})
		}
		return
	}
	moved := m.move()
	if event.Type == listwatch.Bookmark {
		// One that moves nothing is handed on all the same, as a sign of life.
		if m.position != "" {
			m.batch = append(m.batch, listwatch.Event[T]{Type: listwatch.Bookmark, ResourceVersion: m.position})
		}
		return
	}
	own := moved && event.ResourceVersion == m.position
	if !own {
		event.ResourceVersion = ""
	}
	m.batch = append(m.batch, event)
	if moved && !own {
		m.batch = append(m.batch, listwatch.Event[T]{Type: listwatch.Bookmark, ResourceVersion: m.position})
	}
}

// move moves the position to the oldest of the namespaces', and reports whether it did.
func (m *merge[T]) move() bool {
	if m.unsynced > 0 {
		return false
	}
	least := oldest(m.positions)
	if least == "" || least == m.position || m.position != "" && !listwatch.Newer(least, m.position) {
		return false
	}
	m.position = least
	return true
}
