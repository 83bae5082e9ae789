package reflector_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed3bce33ad/listwatch"
)

// row is the object of these tests.
type row struct{ listwatch.Meta }

func newRow(name, version string) *row {
	return &row{listwatch.Meta{Name: name, ResourceVersion: version}}
}

// journal records what happens, with the time since it was made.
type journal struct {
	mu    sync.Mutex // guards lines
	start time.Time
	lines []string
}

func newJournal() *journal { return &journal{start: time.Now()} }

func (j *journal) add(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, fmt.Sprintf("%s ", time.Since(j.start))+fmt.Sprintf(format, args...))
}

func (j *journal) text() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Join(j.lines, "\n") + "\n"
}

// sink is a store that records. It follows the contract of a snapshot as far as these tests
// need: Rebuild and Reset sweep what was not marked; Compare, which runs beside a watch,
// takes what is not newer than the position and newer than what is held.
type sink struct {
	*journal
	mu       sync.Mutex // guards all below
	held     map[string]string
	position string
	open     *snapshot
	// faults are what the next call of a method does, by name: "fail" or "panic".
	faults map[string][]string
	// seen, when set, is called with the number of objects after each change.
	seen func(n int)
	// before, when set, is called before each Put and Apply with their context.
	before func(ctx context.Context) error
}

func newSink(j *journal) *sink {
	return &sink{journal: j, held: map[string]string{}, faults: map[string][]string{}}
}

var errSink = errors.New("the store is broken")

func (s *sink) fault(method string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	queue := s.faults[method]
	if len(queue) == 0 {
		return nil
	}
	s.faults[method] = queue[1:]
	switch queue[0] {
	case "ok":
		return nil
	case "panic":
		panic("the store's " + method)
	}
	return errSink
}

func (s *sink) wait(ctx context.Context) error {
	if s.before == nil {
		return nil
	}
	return s.before(ctx)
}

func (s *sink) Apply(ctx context.Context, events ...listwatch.Event[*row]) error {
	if err := s.fault("apply"); err != nil {
		return err
	}
	if err := s.wait(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var texts []string
	for _, e := range events {
		switch e.Type {
		case listwatch.Bookmark:
		case listwatch.Deleted:
			delete(s.held, e.Object.Name)
		default:
			s.held[e.Object.Name] = e.Object.ResourceVersion
		}
		text := e.Type.String()
		if e.Object != nil {
			text += " " + e.Object.Name + "@" + e.Object.ResourceVersion
		}
		texts = append(texts, text+" #"+e.ResourceVersion)
		if e.ResourceVersion != "" {
			s.position = e.ResourceVersion
		}
	}
	s.add("apply %s", strings.Join(texts, ", "))
	s.changedLocked()
	return nil
}

func (s *sink) changedLocked() {
	if s.seen != nil {
		s.seen(len(s.held))
	}
}

// Lost is not written down: the stories tell what is done about it.
func (*sink) Lost(bool) {}

func (s *sink) Begin(mode listwatch.Mode) listwatch.Snapshot[*row] {
	s.add("begin %s", mode)
	if err := s.fault("begin"); err != nil {
		panic(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = &snapshot{sink: s, mode: mode, marked: map[string]bool{}}
	return s.open
}

// cache tells what is held.
func (s *sink) cache() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for name, version := range s.held {
		all = append(all, name+"@"+version)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

type snapshot struct {
	*sink
	mode   listwatch.Mode
	marked map[string]bool
	whole  bool
}

func (s *snapshot) Known(h listwatch.Head) bool {
	if err := s.fault("known"); err != nil {
		panic(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open != s {
		return false
	}
	held, ok := s.held[h.Key.Name]
	known := ok && held == h.ResourceVersion
	if h.Key.Name == "" {
		s.whole = true
	}
	if known || h.ResourceVersion == "" {
		s.marked[h.Key.Name] = true
	}
	s.add("known %s@%s %v", h.Key.Name, h.ResourceVersion, known)
	return known
}

func (s *snapshot) Put(ctx context.Context, objects ...*row) error {
	if err := s.fault("put"); err != nil {
		return err
	}
	if err := s.wait(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open != s {
		return listwatch.ErrStopped
	}
	text := "put"
	for _, o := range objects {
		s.marked[o.Name] = true
		text += " " + o.Name + "@" + o.ResourceVersion
		held, ok := s.held[o.Name]
		passed := !listwatch.Newer(o.ResourceVersion, s.position)
		if s.mode != listwatch.Compare || passed && (!ok || listwatch.Newer(o.ResourceVersion, held)) {
			s.held[o.Name] = o.ResourceVersion
		}
	}
	s.add("%s", text)
	s.changedLocked()
	return nil
}

func (s *snapshot) Commit(version string) error {
	if err := s.fault("commit"); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open != s {
		return listwatch.ErrStopped
	}
	s.open = nil
	s.add("commit %s", version)
	if s.mode == listwatch.Compare {
		return nil
	}
	s.position = version
	for name := range s.held {
		if !s.marked[name] && !s.whole {
			delete(s.held, name)
		}
	}
	s.changedLocked()
	return nil
}

func (s *snapshot) Abort() {
	if err := s.fault("abort"); err != nil {
		panic(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == s {
		s.open = nil
		s.add("abort")
	}
}
