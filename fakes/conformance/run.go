package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/benbjohnson/clock"
	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/internal/timing"
)

// errDeadline is the cause of a context whose call took longer than Fixture.Deadline.
var errDeadline = errors.New("took longer than the deadline of the suite")

// run is one case under way.
type run[T listwatch.Object] struct {
	TB
	Fixture[T]
	ctx     context.Context
	watches []*watch[T]
	// guards are those of all calls, reported when the case is over.
	guards []*guard
}

// caseOf makes a case of a check.
func caseOf[T listwatch.Object](name string, fixture func(TB) Fixture[T], check func(*run[T])) Case {
	return Case{Name: name, Run: func(t TB) {
		t.Helper()
		f := fixture(t)
		if err := f.validate(); err != nil {
			t.Errorf("conformance: %v", err)
			t.FailNow()
		}
		r := &run[T]{TB: t, Fixture: f.withDefaults()}
		var cancel context.CancelFunc
		r.ctx, cancel = context.WithCancel(t.Context())
		defer func() {
			cancel()
			r.finish()
			r.Close()
			for _, g := range r.guards {
				g.report(t)
			}
		}()
		check(r)
	}}
}

// finish waits for the watches, whose contexts are done, and reports what they told wrong.
func (r *run[T]) finish() {
	r.Helper()
	late, cancel := context.WithCancelCause(context.Background())
	disarm := timing.AfterFunc(clock.New(), r.Deadline, func() { cancel(errDeadline) })
	defer disarm()
	defer cancel(nil)
	for _, w := range r.watches {
		select {
		case <-w.done:
		case <-late.Done():
			r.Errorf("a watch has not returned although its context is done")
		}
		w.checkPositions()
	}
}

// fatalf fails the case and ends it.
func (r *run[T]) fatalf(format string, args ...any) {
	r.Helper()
	r.Errorf(format, args...)
	r.FailNow()
}

// must ends the case when err is not nil.
func (r *run[T]) must(what string, err error) {
	r.Helper()
	if err != nil {
		r.fatalf("%s: %v", what, err)
	}
}

// within returns a context that ends at the deadline.
func (r *run[T]) within() (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(r.ctx)
	disarm := timing.AfterFunc(clock.New(), r.Deadline, func() { cancel(errDeadline) })
	return ctx, func() {
		disarm()
		cancel(nil)
	}
}

func (r *run[T]) key(name string) listwatch.Key {
	return listwatch.Key{Namespace: r.Namespaces[0], Name: name}
}

// create makes an object with a value.
func (r *run[T]) create(name, value string) State {
	r.Helper()
	s, err := r.Create(r.ctx, State{Key: r.key(name), Value: value})
	r.must("create "+name, err)
	return s
}

// update gives an object another value.
func (r *run[T]) update(name, value string) State {
	r.Helper()
	s, err := r.Update(r.ctx, State{Key: r.key(name), Value: value})
	r.must("update "+name, err)
	return s
}

func (r *run[T]) delete(name string) {
	r.Helper()
	r.must("delete "+name, r.Delete(r.ctx, State{Key: r.key(name)}))
}

// listing is what one list delivered.
type listing[T listwatch.Object] struct {
	meta    listwatch.ListMeta
	objects []T
	states  []State
}

// list lists once and checks that each was used as promised.
func (r *run[T]) list(o listwatch.ListOptions) (listing[T], error) {
	r.Helper()
	ctx, done := r.within()
	defer done()
	var l listing[T]
	g := r.guard("list")
	meta, err := r.Source.List(ctx, o, func(objects ...T) error {
		defer g.enter()()
		l.objects = append(l.objects, objects...)
		return nil
	})
	g.end()
	l.meta = meta
	for _, o := range l.objects {
		l.states = append(l.states, r.Read(o))
	}
	return l, err
}

// all lists everything at once.
func (r *run[T]) all() listing[T] {
	r.Helper()
	l, err := r.list(listwatch.ListOptions{})
	r.must("list", err)
	if l.meta.Continue != "" {
		r.Errorf("a list without a limit has a further page")
	}
	r.checkVersion(l.meta.ResourceVersion)
	return l
}

func (r *run[T]) checkVersion(version string) {
	r.Helper()
	if version == "" || version == "0" {
		r.Errorf("the version of a list is %q, which means something else in requests", version)
	}
}

// values describes states by key and value, sorted.
func values(states []State) []string {
	texts := make([]string, len(states))
	for i, s := range states {
		texts[i] = fmt.Sprintf("%s=%s", s.Key, s.Value)
	}
	slices.Sort(texts)
	return texts
}

// same compares what was listed, in any order.
func (r *run[T]) same(what string, got []State, want ...State) {
	r.Helper()
	if g, w := values(got), values(want); !slices.Equal(g, w) {
		r.Errorf("%s: got %v, want %v", what, g, w)
	}
}

// failed checks that err is of one of the classes.
func (r *run[T]) failed(what string, err error, classes ...error) {
	r.Helper()
	for _, class := range classes {
		if errors.Is(err, class) {
			return
		}
	}
	r.Errorf("%s: got error %v, want one of %v", what, err, classes)
}
