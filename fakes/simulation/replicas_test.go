package simulation_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/fakes/simulation"
	"github.com/seed3bce33ad/listwatch/indexer"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

// The tests here run a controller that keeps as many children as a parent wants: by what its cache
// shows, which is late, and with the two ways in which it sees its own writes.

type thing = fakes.Object

// A parent wants between fewest and most children.
const (
	fewest = 3
	most   = 4
)

const (
	neverTooMany = "never more children than were ever wanted"
	neverTooFew  = "nothing is deleted that was always wanted"
	exactAtRest  = "as many children as are wanted"
)

// replicas is the controller, and where it writes.
type replicas struct {
	w        *simulation.World
	server   *fakes.Source[*thing] // of the children
	alone    bool                  // nobody else deletes children
	size     int                   // of an overlay
	mute     bool                  // a deletion is answered without its version
	made     *atomic.Int64
	parents  *informer.Informer[*thing]
	children *informer.Informer[*thing]
	byOwner  *indexer.Index[*thing, string]
	queue    *workqueue.Queue[listwatch.Key]
	sight    sight
}

// sight is how a step sees the children, and what it does about its writes.
type sight interface {
	// look returns the children of an owner, or what to wait for first.
	look(owner string) ([]*thing, *listwatch.Signal)
	created(child *thing)
	// deleted reports whether it can do with the last state, without the version of the deletion.
	deleted(last *thing) bool
	// done ends a step whose last write has that version; "": it has written nothing.
	done(version string) workqueue.Result
}

// inSim returns the setup of a world with parents, and a controller that sees as it is told. Without
// always, only what is so at rest counts, and the server of the children is restored at times.
func inSim(see func(*replicas) sight, always bool) func(*simulation.World) {
	return func(w *simulation.World) {
		number := func(rng *rand.Rand, key listwatch.Key, _ *thing) *thing {
			want := fewest + rng.IntN(most-fewest+1)
			return &thing{Meta: listwatch.Meta{Namespace: key.Namespace, Name: key.Name}, Value: strconv.Itoa(want)}
		}
		parents := simulation.Serve(w, "parents", fakes.StampObject, simulation.ServeOptions[*thing]{Mutate: number, NoDeletes: true})
		alone := w.Choose("children-deleted-by-others", "no", "yes") == "no"
		children := simulation.Serve(w, "children", fakes.StampObject, simulation.ServeOptions[*thing]{NoDeletes: alone})
		count := func(exact bool) error {
			for _, parent := range parents.Objects() {
				want, _ := strconv.Atoi(parent.Value)
				if n := len(of(children, parent.Name)); n > most || exact && n != want {
					return fmt.Errorf("%s wants %d children and has %d", parent.Name, want, n)
				}
			}
			return nil
		}
		if always {
			w.Always(neverTooMany, func() error { return count(false) })
		} else {
			w.Operate(restore(children))
		}
		w.AtRest(exactAtRest, func() error { return count(true) })
		size, _ := strconv.Atoi(w.Choose("overlay-size", "0", "3"))
		mute := w.Choose("deletions-answered", "with-version", "without") == "without" && always
		made := new(atomic.Int64)
		w.Start(func(ctx context.Context) error {
			c := &replicas{w: w, server: children, alone: alone && always, size: size, mute: mute, made: made}
			return c.run(ctx, parents, see)
		})
	}
}

// restore takes a server back some versions. It is no place to do so with parents: theirs would be
// used again, and nobody could tell two states of one version.
func restore(children *fakes.Source[*thing]) simulation.Operation {
	return simulation.Operation{
		Name: "restore-children", Weight: 3,
		Make: func(rng *rand.Rand) string { return strconv.Itoa(1 + rng.IntN(8)) },
		Do: func(words []string) error {
			n, err := strconv.Atoi(words[0])
			_ = children.Inject(fakes.Fault{Kind: fakes.FaultRestore, N: n})
			return err
		},
	}
}

func of(children *fakes.Source[*thing], owner string) []*thing {
	return slices.DeleteFunc(children.Objects(), func(o *thing) bool { return o.Value != owner })
}

func (c *replicas) run(ctx context.Context, parents *fakes.Source[*thing], see func(*replicas) sight) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	var all informer.Factory
	all.Options.Logger = slog.New(slog.DiscardHandler)
	all.Options.Resync = time.Hour // what a restore has undone before the cache saw it is nobody's event
	c.parents, _ = informer.Of[*thing](&all, "parents", parents)
	c.children, _ = informer.Of[*thing](&all, "children", c.server)
	c.byOwner, _ = indexer.AddIndex(c.children.Indexer(), "owner", indexer.One(func(o *thing) string { return o.Value }))
	c.queue = workqueue.New[listwatch.Key](workqueue.Options{})
	c.sight = see(c)
	_, _ = informer.Enqueue(ctx, c.parents, c.queue)
	_, _ = informer.EnqueueOf(ctx, c.children, c.queue, func(o *thing) []listwatch.Key {
		return []listwatch.Key{{Namespace: "ns", Name: o.Value}}
	})
	ended := make(chan error, 1)
	go func() { ended <- all.Run(ctx) }()
	if err = all.WaitForSync(ctx); err == nil {
		err = workqueue.Process(ctx, c.queue, 2, c.step)
	}
	cancel()
	<-ended
	return err
}

func (c *replicas) step(_ context.Context, key listwatch.Key) (workqueue.Result, error) {
	parent, ok := c.parents.Indexer().Get(key)
	if !ok {
		return workqueue.Result{}, nil
	}
	want, _ := strconv.Atoi(parent.Value)
	held, first := c.sight.look(key.Name)
	if first != nil {
		return workqueue.Result{Await: first}, nil
	}
	version, err := c.create(key.Name, want-len(held))
	if len(held) > want {
		slices.SortFunc(held, func(a, b *thing) int { return cmp.Compare(a.Name, b.Name) })
		version, err = c.remove(key.Name, held[want:])
	}
	return c.sight.done(version), err
}

// create makes n children, and returns the version of the last one.
func (c *replicas) create(owner string, n int) (version string, err error) {
	for range n {
		name := fmt.Sprint(owner, "-", c.made.Add(1))
		child, err := c.server.Create(&thing{Meta: listwatch.Meta{Namespace: "ns", Name: name}, Value: owner})
		if err != nil {
			return version, err
		}
		c.sight.created(child)
		version = child.ResourceVersion
	}
	return version, nil
}

// remove deletes children, and returns the version of the last deletion.
func (c *replicas) remove(owner string, children []*thing) (version string, err error) {
	for _, child := range children {
		if n := len(of(c.server, owner)); c.alone && n <= fewest {
			c.w.Fail(neverTooFew, "%s is deleted when %d are left", child.Name, n)
		}
		last, err := c.server.Delete(listwatch.KeyOf(child), fakes.Preconditions{UID: child.UID})
		switch {
		case err == nil && c.mute && c.sight.deleted(child):
		case err == nil:
			c.sight.deleted(last)
			version = last.ResourceVersion
		case errors.Is(err, listwatch.ErrNotFound):
			c.sight.deleted(child) // by somebody else, which is as good
		default:
			return version, err
		}
	}
	return version, nil
}

// naive sees what the cache shows.
type naive struct{ c *replicas }

func (s naive) look(owner string) ([]*thing, *listwatch.Signal) { return s.c.byOwner.Get(owner), nil }
func (naive) created(*thing)                                    {}
func (naive) deleted(*thing) bool                               { return false }
func (naive) done(string) workqueue.Result                      { return workqueue.Result{} }

// patient waits until the cache shows what a step has written, for as long as it takes: when a key
// comes again by its deadline, the cache is still behind.
type patient struct{ naive }

func (s patient) done(version string) workqueue.Result {
	if version == "" {
		return workqueue.Result{} // nothing to wait for: the key would come again at once
	}
	return workqueue.Result{Await: s.c.children.Reached(version), After: 24 * time.Hour}
}

// quick goes on with its own writes in front of the cache.
type quick struct {
	c   *replicas
	own *informer.Overlay[*thing]
}

func (s quick) look(owner string) ([]*thing, *listwatch.Signal) {
	if !s.own.Whole() {
		return nil, s.own.Caught()
	}
	return informer.Look(s.own, s.c.byOwner, owner), nil
}

func (s quick) created(child *thing) { s.own.Wrote(child) }

func (s quick) deleted(last *thing) bool {
	s.own.Deleted(last)
	return true
}

// done has the key come again when the cache has caught up, also after a step that has written
// nothing: a child that came and went meanwhile is nobody's event.
func (s quick) done(string) (r workqueue.Result) {
	if caught := s.own.Caught(); !caught.Fired() {
		r.Await = caught
	}
	return r
}

// overlaid sees with an overlay, which at times has no room, for longer than the cache is ever behind.
func overlaid(c *replicas) sight { return overlay(c, 24*time.Hour) }

func overlay(c *replicas, expire time.Duration) sight {
	o := informer.OverlayOptions{Size: c.size, Expire: expire}
	return quick{c, informer.NewOverlay(c.children, o)}
}

// tried are 200 short scenarios, or what the flags of the simulation say.
func tried() simulation.Options {
	o := simulation.Options{Seed: max(1, *simSeed), Scenarios: *simCount, Operations: 80, Faults: fakes.HonestFaults(), Rest: 30 * time.Minute}
	if o.Scenarios == 0 {
		o.Scenarios = 200
	}
	return o
}

func TestNaiveControllerOverCreates(t *testing.T) {
	t.Parallel()
	o := tried()
	o.Shrink = -1
	found := simulation.Find(t, inSim(func(c *replicas) sight { return naive{c} }, true), o)
	require.NotNil(t, found)
	require.Contains(t, []string{neverTooMany, neverTooFew}, found.Promise)
	require.LessOrEqual(t, found.Seed, o.Seed+30)
}

func TestControllerThatWaitsNeverOverCreates(t *testing.T) {
	t.Parallel()
	simulation.Run(t, inSim(func(c *replicas) sight { return patient{naive{c}} }, true), tried())
}

// Scenario 79.
func TestControllerWithOverlayNeverOverCreates(t *testing.T) {
	t.Parallel()
	simulation.Run(t, inSim(overlaid, true), tried())
}

// Under faults by which no client can know what it has written, all comes right in the end.
func TestControllerWithOverlayRecovers(t *testing.T) {
	t.Parallel()
	o := tried()
	o.Faults = slices.DeleteFunc(fakes.FaultKinds(), func(k fakes.FaultKind) bool { return k == fakes.FaultRestore })
	o.Rest = 3 * time.Hour
	simulation.Run(t, inSim(func(c *replicas) sight { return overlay(c, 10*time.Minute) }, false), o)
}
