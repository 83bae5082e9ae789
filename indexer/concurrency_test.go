package indexer_test

import (
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/indexer"
	"github.com/seed3bce33ad/listwatch/internal/worker"
)

// gate is an index function that waits inside until it is opened.
type gate struct{ entered, open chan struct{} }

func newGate() *gate { return &gate{make(chan struct{}), make(chan struct{})} }

func (g *gate) values(*pod) []string {
	g.entered <- struct{}{}
	<-g.open
	return []string{"v"}
}

func TestReadersDoNotWaitForAnIndexFunction(t *testing.T) {
	x := strict(t)
	r := x.Reader()
	p, q := newPod("p", "1", "a"), newPod("q", "2", "a")
	x.Put(p)
	byLabel := mustIndex(t, x, "label", labels)
	readable := func(objects ...*pod) {
		require.Equal(t, objects, r.List())
		require.Equal(t, objects, byLabel.Get("a"))
		_, ok := x.Mark(key("p"), 1)
		require.True(t, ok)
		require.Len(t, x.Unmarked(1), len(objects)-1)
	}

	g := newGate()
	var group worker.Group
	group.Go(func() {
		if ix, err := indexer.AddIndex(r, "slow", g.values); err != nil || ix.Len("v") != 1 {
			t.Errorf("index over what is held: %v", err)
		}
		x.Put(q)
	})
	<-g.entered // the index is being built
	readable(p)
	require.Len(t, r.Stats().Indexes, 1)
	g.open <- struct{}{}
	<-g.entered // an object is being written
	readable(p)
	require.Len(t, r.Stats().Indexes, 2)
	g.open <- struct{}{}
	group.Wait()
	readable(p, q)
}

// Two writers are in the same index function at the same time.
func TestWritersDoNotWaitForAnIndexFunction(t *testing.T) {
	if storage != nil {
		return // writers of a compact store do
	}
	x := strict(t)
	g := newGate()
	ix := mustIndex(t, x, "slow", g.values)
	var group worker.Group
	for _, name := range []string{"p", "q"} {
		group.Go(func() { x.Put(newPod(name, "1")) })
	}
	<-g.entered
	<-g.entered
	close(g.open)
	group.Wait()
	require.ElementsMatch(t, []listwatch.Key{key("p"), key("q")}, ix.Keys("v"))
	require.NoError(t, x.Check())
}

func TestIndexFunctionMayRead(t *testing.T) {
	x := strict(t)
	ix := mustIndex(t, x, "seen", func(p *pod) []int { return []int{x.Reader().Len(), len(x.Reader().Namespace(""))} })
	p, q := newPod("p", "1"), newPod("q", "1")
	x.Put(p, q)
	require.Equal(t, []*pod{p, q}, ix.Get(0))
}

func TestOnErrorMayWrite(t *testing.T) {
	var x *indexer.Indexer[*pod]
	x = newStore[*pod](indexer.Options{OnError: func(err error) {
		x.Delete(key("p"))
		require.True(t, x.Reader().RemoveIndex("label"))
	}})
	mustIndex(t, x, "label", explode)
	x.Put(newPod("p", "1", "boom"))
	require.Zero(t, x.Reader().Len())
}

// An index function that ends its goroutine, as a failing test does, leaves no lock behind.
func TestIndexFunctionMayEndItsGoroutine(t *testing.T) {
	x := strict(t)
	var end atomic.Bool
	ix := mustIndex(t, x, "label", func(p *pod) []string {
		if end.Load() && p.Name == "q" {
			runtime.Goexit()
		}
		return p.Labels
	})
	end.Store(true)
	var group worker.Group
	group.Go(func() { x.Put(newPod("p", "1", "a", "b"), newPod("q", "1", "c")) })
	group.Wait()
	require.Zero(t, x.Reader().Len())
	end.Store(false)
	x.Put(newPod("r", "1", "c"))
	require.Equal(t, []string{"c"}, slices.Collect(ix.Values()))
	require.NoError(t, x.Check())
}

// Scenario 56, as far as the store goes: during relists readers see the same number of objects
// all the time, and never two states at once.
func TestReadersSeeWholeStates(t *testing.T) {
	const objects = 200
	x := strict(t)
	r := x.Reader()
	byRound := mustIndex(t, x, "round", labels)
	round := func(n int) []*pod {
		pods := make([]*pod, objects)
		for i := range pods {
			pods[i] = newPod(fmt.Sprintf("n/p%d", i+n%3), strconv.Itoa(n), strconv.Itoa(n))
		}
		return pods
	}
	x.Replace("1", round(1)...)

	var done atomic.Bool
	var group worker.Group
	for range 3 {
		group.Go(func() {
			for wholeState(t, r, byRound, objects) && !done.Load() {
				runtime.Gosched()
			}
		})
	}
	for n := 2; n < some(300); n++ {
		if n%2 == 0 {
			x.Replace(strconv.Itoa(n), round(n)...)
			continue
		}
		var writes []indexer.Write[*pod]
		for _, p := range r.List() {
			writes = append(writes, deletion(p))
			writes[len(writes)-1].Force = true
		}
		for _, p := range round(n) {
			writes = append(writes, update(p))
		}
		x.Apply(strconv.Itoa(n), writes)
	}
	done.Store(true)
	group.Wait()
	require.NoError(t, x.Check())
}

// wholeState reads in all ways, and reports whether each read was of one state.
func wholeState(t *testing.T, r *indexer.Reader[*pod], byRound *indexer.Index[*pod, string], objects int) bool {
	list, version := r.Snapshot()
	ok := len(list) == objects && r.Len() == objects && len(r.Keys()) == objects
	for _, p := range list {
		ok = ok && p.ResourceVersion == version
	}
	space := r.Namespace("n")
	ok = ok && len(space) == objects
	for _, p := range space {
		ok = ok && p.ResourceVersion == space[0].ResourceVersion
	}
	for v := range byRound.Values() {
		if n := byRound.Len(v); n != 0 && n != objects {
			ok = false
		}
		for k, p := range byRound.All(v) {
			ok = ok && p.ResourceVersion == v && listwatch.KeyOf(p) == k
		}
	}
	for k, p := range r.All() {
		ok = ok && listwatch.KeyOf(p) == k
	}
	if !ok {
		t.Errorf("a read of two states: %d objects at %q, %d in the namespace", len(list), version, len(space))
	}
	return ok
}

// Readers, writers and those who add and remove indexes, all at once; it is the race detector
// and Check that judge.
func TestStress(t *testing.T) {
	steps := 2000
	if testing.Short() || storage != nil {
		steps = 200
	}
	x := newStore[*pod](indexer.Options{OnError: func(error) {}})
	r := x.Reader()
	fixed := mustIndex(t, x, "fixed", explode)
	rnd := random(t)
	var group worker.Group
	for n := range 8 {
		seed := rnd.Uint64()
		group.Go(func() {
			for i := range steps {
				v := (seed + uint64(i)*7919) % 50
				p := newPod("n/p"+strconv.FormatUint(v, 10), strconv.Itoa(i), walkValues[v%6], walkValues[(v+uint64(i))%6])
				k := listwatch.KeyOf(p)
				switch n {
				case 0:
					x.Put(p)
				case 1:
					x.Apply(strconv.Itoa(i), []indexer.Write[*pod]{update(p), deletion(p), update(p)})
				case 2:
					x.Delete(k)
				case 3:
					x.Replace(strconv.Itoa(i), append(r.List(), p)...)
				case 4:
					x.Mark(k, v)
					x.Unmarked(v)
				case 5:
					name := "extra" + strconv.Itoa(i)
					ix, err := indexer.AddIndex(r, name, explode)
					if err != nil || !r.RemoveIndex(name) || ix.Len("a") != 0 {
						t.Errorf("index %s: %v", name, err)
					}
				default:
					got, ok := r.Get(k)
					if ok && got.Name != p.Name {
						t.Errorf("got %s for %s", got.Name, p.Name)
					}
					fixed.Get("a")
					r.Stats()
					for range fixed.All("b") {
						r.Head(k)
					}
				}
			}
		})
	}
	group.Wait()
	require.NoError(t, x.Check())
}
