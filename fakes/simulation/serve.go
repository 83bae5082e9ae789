package simulation

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
)

// ServeOptions say what a source is like and what foreign clients do to it. The zero value is a
// source whose objects are deleted by others at times, and never written.
type ServeOptions[T listwatch.Object] struct {
	// Source are the options of the server. What they leave open of History, NoInitialEvents and
	// ExpiredStatus is chosen for each scenario. Defaults to that.
	Source fakes.Options[T]
	// Keys are the keys that foreign clients write. Defaults to k0 to k4 in namespace "ns".
	Keys []listwatch.Key
	// Mutate returns what a foreign client writes under a key, given a copy of what is held
	// there, or the zero T when nothing is. It may change the copy. It must follow from its
	// arguments alone. Defaults to no writes.
	Mutate func(rng *rand.Rand, key listwatch.Key, held T) T
	// NoDeletes is for a source from which foreign clients delete nothing. Defaults to false.
	NoDeletes bool
}

// Serve makes a server for a scenario and has foreign clients write to it and faults happen to
// it, calls of its own verbs that fail among them. Stamp is that of [fakes.New]. A name that is not
// one word panics.
func Serve[T listwatch.Object](w *World, name string, stamp func(T, fakes.Stamp) T, o ServeOptions[T]) *fakes.Source[T] {
	if name == "" || strings.ContainsAny(name, " \t\n=&#") {
		panic(fmt.Sprintf("simulation: the name %q is not one word", name))
	}
	if len(o.Keys) == 0 {
		for n := range 5 {
			o.Keys = append(o.Keys, listwatch.Key{Namespace: "ns", Name: "k" + strconv.Itoa(n)})
		}
	}
	if o.Source.History == 0 {
		o.Source.History, _ = strconv.Atoi(w.Choose(name+".history", "10000", "100", "20"))
	}
	if !o.Source.NoInitialEvents {
		o.Source.NoInitialEvents = w.Choose(name+".initial-events", "yes", "no") == "no"
	}
	if !o.Source.ExpiredStatus {
		o.Source.ExpiredStatus = w.Choose(name+".expired", "event", "status") == "status"
	}
	s := &served[T]{w: w, name: name, o: o}
	s.source = fakes.New(s.noticed(stamp), o.Source)
	w.Target(name, s, sourceKinds()...)
	if o.Mutate != nil {
		w.Operate(Operation{Name: "put-" + name, Weight: 100, Make: s.somePut, Do: s.put})
	}
	if !o.NoDeletes {
		w.Operate(Operation{Name: "delete-" + name, Weight: 20, Make: s.someDelete, Do: s.delete})
	}
	return s.source
}

// sourceKinds are the kinds of fault that a source takes.
func sourceKinds() (kinds []fakes.FaultKind) {
	for _, k := range fakes.FaultKinds() {
		if k.OfSource() {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// served is a server with foreign clients.
type served[T listwatch.Object] struct {
	w      *World
	name   string
	o      ServeOptions[T]
	source *fakes.Source[T]
	// newest is the newest version that was stamped.
	newest atomic.Uint64
}

// noticed returns a stamp function that lets the world know of each write: of each version that
// is newer than all before.
func (s *served[T]) noticed(stamp func(T, fakes.Stamp) T) func(T, fakes.Stamp) T {
	return func(o T, st fakes.Stamp) T {
		v, _ := strconv.ParseUint(st.ResourceVersion, 10, 64)
		for newest := s.newest.Load(); v > newest; newest = s.newest.Load() {
			if s.newest.CompareAndSwap(newest, v) {
				s.w.wrote()
				break
			}
		}
		return stamp(o, st)
	}
}

// Inject passes a fault on.
func (s *served[T]) Inject(f fakes.Fault) error {
	err := s.source.Inject(f)
	v, _ := strconv.ParseUint(s.source.Version(), 10, 64)
	s.newest.Store(v) // a restored server goes back
	return err
}

// Heal ends the faults.
func (s *served[T]) Heal() { s.source.Heal() }

// somePut names a key and the seed of what is written.
func (s *served[T]) somePut(rng *rand.Rand) string {
	return fmt.Sprintf("%s %d", s.o.Keys[rng.IntN(len(s.o.Keys))], rng.IntN(1000))
}

func (s *served[T]) put(words []string) error {
	if len(words) != 2 {
		return fmt.Errorf("want a key and a seed")
	}
	key, err := listwatch.ParseKey(words[0])
	if err != nil {
		return err
	}
	seed, err := strconv.ParseUint(words[1], 10, 64)
	if err != nil {
		return err
	}
	held, _ := s.find(key)
	_, err = s.source.Put(s.o.Mutate(rand.New(rand.NewPCG(seed, 3)), key, held))
	return err
}

func (s *served[T]) find(key listwatch.Key) (held T, ok bool) {
	for _, o := range s.source.Objects() {
		if listwatch.KeyOf(o) == key {
			return o, true
		}
	}
	return held, false
}

// someDelete is a number: that of the object in the order of a list.
func (s *served[T]) someDelete(rng *rand.Rand) string { return strconv.Itoa(rng.IntN(1000)) }

func (s *served[T]) delete(words []string) error {
	n, err := strconv.Atoi(strings.Join(words, " "))
	if err != nil || n < 0 {
		return fmt.Errorf("want the number of an object: %w", err)
	}
	objects := s.source.Objects()
	if len(objects) == 0 {
		return nil
	}
	_, _ = s.source.Delete(listwatch.KeyOf(objects[n%len(objects)]), fakes.Preconditions{}) // a fault may be due
	return nil
}
