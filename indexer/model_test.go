package indexer_test

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/indexer"
)

// walk is a random walk of a store beside a naive model of it: a map.
type walk struct {
	t       *testing.T
	rnd     *rand.Rand
	x       *indexer.Indexer[*pod]
	model   map[listwatch.Key]*pod
	marks   map[listwatch.Key]uint64
	version string
	indexes map[string]*indexer.Index[*pod, string]
	clock   int
	copies  bool // what is read may be another copy
}

var walkValues = []string{"a", "b", "c", "d", "e", "boom"}

// Scenarios 80 and 84 in general: after every step the store and each index equal what a
// rebuild from nothing gives.
func TestRandomWalkEqualsRebuild(t *testing.T) {
	w := &walk{
		t:       t,
		rnd:     random(t),
		x:       newStore[*pod](indexer.Options{OnError: func(error) {}}),
		model:   map[listwatch.Key]*pod{},
		marks:   map[listwatch.Key]uint64{},
		indexes: map[string]*indexer.Index[*pod, string]{},
	}
	w.toggleIndex("first")
	for range 3000 {
		w.step()
		w.check()
	}
}

// The same over a store that decodes nearly everything that it is asked for.
func TestRandomWalkOverEncodedObjects(t *testing.T) {
	for _, recent := range []int{1, 3, 20} {
		w := &walk{
			t:       t,
			rnd:     random(t),
			x:       newStore[*pod](indexer.Options{Compact: &indexer.Compact{Recent: recent}, OnError: func(error) {}}),
			model:   map[listwatch.Key]*pod{},
			marks:   map[listwatch.Key]uint64{},
			indexes: map[string]*indexer.Index[*pod, string]{},
			copies:  true,
		}
		w.toggleIndex("first")
		for range 500 {
			w.step()
			w.check()
		}
		w.x.Pack()
		require.Zero(t, w.x.Reader().Stats().Plain)
	}
}

func (w *walk) step() {
	switch w.rnd.IntN(20) {
	case 0:
		w.toggleIndex("second")
	case 1:
		w.replace()
	case 2, 3:
		p := w.pod()
		w.x.Put(p)
		w.model[listwatch.KeyOf(p)], w.version = p, ""
	case 4:
		k := listwatch.KeyOf(w.pod())
		w.x.Delete(k)
		w.drop(k)
		w.version = ""
	case 5:
		k, g := listwatch.KeyOf(w.pod()), w.rnd.Uint64N(5)
		held, ok := w.x.Mark(k, g)
		p, want := w.model[k]
		require.Equal(w.t, want, ok)
		if ok {
			require.Equal(w.t, headOf(p), held)
			w.marks[k] = max(w.marks[k], g)
		}
	default:
		w.apply()
	}
}

// pod makes one of a few keys, in a version around the present one, with few identities.
func (w *walk) pod() *pod {
	w.clock++
	values := make([]string, w.rnd.IntN(6))
	for i := range values {
		values[i] = walkValues[w.rnd.IntN(5)]
	}
	if w.rnd.IntN(30) == 0 {
		values = append(values, "boom")
	}
	version := strconv.Itoa(w.clock - w.rnd.IntN(30))
	if w.rnd.IntN(20) == 0 {
		version = "opaque" + version
	}
	p := newPod("p"+strconv.Itoa(w.rnd.IntN(12)), version, values...)
	p.Namespace = []string{"", "n", "m"}[w.rnd.IntN(3)]
	p.UID = []string{"", "u", "v"}[w.rnd.IntN(3)]
	return p
}

func (w *walk) toggleIndex(name string) {
	if _, ok := w.indexes[name]; ok {
		require.True(w.t, w.x.Reader().RemoveIndex(name))
		delete(w.indexes, name)
		return
	}
	w.indexes[name] = mustIndex(w.t, w.x, name, explode)
}

func (w *walk) drop(k listwatch.Key) {
	delete(w.model, k)
	delete(w.marks, k)
}

func (w *walk) replace() {
	pods := make([]*pod, w.rnd.IntN(20))
	next := map[listwatch.Key]*pod{}
	for i := range pods {
		pods[i] = w.pod()
		if held := w.model[listwatch.KeyOf(pods[i])]; held != nil && w.rnd.IntN(2) == 0 {
			same := *held
			pods[i] = &same
		}
		k := listwatch.KeyOf(pods[i])
		if old := next[k]; old == nil || !listwatch.Newer(old.ResourceVersion, pods[i].ResourceVersion) {
			next[k] = pods[i]
		}
	}
	w.version = strconv.Itoa(w.clock)
	w.x.Replace(w.version, pods...)
	for k, p := range next {
		if held := w.model[k]; held != nil && headOf(held) == headOf(p) {
			next[k] = held
		}
	}
	for k := range w.marks {
		if next[k] == nil {
			delete(w.marks, k)
		}
	}
	w.model = next
}

func (w *walk) apply() {
	writes := make([]indexer.Write[*pod], w.rnd.IntN(5))
	want := make([]indexer.Write[*pod], len(writes))
	w.version = []string{"", strconv.Itoa(w.clock)}[w.rnd.IntN(2)]
	for i := range writes {
		p := w.pod()
		if w.rnd.IntN(3) == 0 {
			writes[i] = deletion(p)
		} else {
			writes[i] = update(p)
		}
		writes[i].Force = w.rnd.IntN(8) == 0
		writes[i].Mark = w.rnd.Uint64N(5)
		want[i] = w.expect(writes[i])
	}
	w.x.Apply(w.version, writes)
	require.Empty(w.t, cmp.Diff(want, writes))
}

// expect applies the write to the model.
func (w *walk) expect(write indexer.Write[*pod]) indexer.Write[*pod] {
	k := write.Head.Key
	held := w.model[k]
	if held != nil {
		write.Held, write.Old, write.OldHead = true, held, headOf(held)
	}
	order := func() (int, bool) {
		c, err := listwatch.CompareVersions(write.Head.ResourceVersion, held.ResourceVersion)
		return c, err == nil
	}
	switch {
	case held == nil:
		write.Applied = !write.Delete
	case write.Force:
		write.Applied = true
	case !write.Delete:
		c, ok := order()
		write.Applied = !ok || c > 0
	default:
		c, ok := order()
		write.Applied = !ok || c >= 0
		if held.UID != "" && write.Head.UID != "" && held.UID != write.Head.UID {
			write.Applied = ok && c > 0
		}
	}
	if write.Applied && write.Delete {
		w.drop(k)
	} else if write.Applied {
		w.model[k] = write.Object
	}
	if w.model[k] != nil {
		w.marks[k] = max(w.marks[k], write.Mark)
	}
	return write
}

func (w *walk) check() {
	require.NoError(w.t, w.x.Check())
	r := w.x.Reader()
	require.Equal(w.t, w.version, r.Version())
	require.Equal(w.t, len(w.model), r.Len())
	byValue, bySpace := map[string][]*pod{}, map[string][]*pod{}
	for k, p := range w.model {
		got, ok := r.Get(k)
		require.True(w.t, ok)
		w.same(p, got)
		bySpace[k.Namespace] = append(bySpace[k.Namespace], p)
		if slices.Contains(p.Labels, "boom") {
			continue
		}
		for _, v := range slices.Compact(slices.Sorted(slices.Values(p.Labels))) {
			byValue[v] = append(byValue[v], p)
		}
	}
	for _, ix := range w.indexes {
		w.sameIndex(byValue, ix)
	}
	w.sameIndex(bySpace, r.Namespaces())
	for g := range uint64(5) {
		var want []string
		for k := range w.model {
			if w.marks[k] != g {
				want = append(want, k.String())
			}
		}
		var got []string
		for _, h := range w.x.Unmarked(g) {
			require.Equal(w.t, headOf(w.model[h.Key]), h)
			got = append(got, h.Key.String())
		}
		slices.Sort(want)
		slices.Sort(got)
		require.Equal(w.t, want, got)
	}
}

func (w *walk) same(want, got *pod) {
	if w.copies {
		require.Equal(w.t, want, got)
	} else {
		require.Same(w.t, want, got)
	}
}

func (w *walk) sameIndex(want map[string][]*pod, ix *indexer.Index[*pod, string]) {
	require.Len(w.t, slices.Collect(ix.Values()), len(want))
	for v, pods := range want {
		got := ix.Get(v)
		require.Equal(w.t, names(pods), names(got))
		for i, k := range ix.Keys(v) {
			w.same(w.model[k], got[i])
		}
	}
}
