package indexer_test

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/indexer"
	"github.com/seed3bce33ad/listwatch/internal/measure"
)

// Scenario 80.
func TestIndexFollowsTheValuesOfAnObject(t *testing.T) {
	x := strict(t)
	ix := mustIndex(t, x, "label", labels)
	for i, values := range [][]string{
		{"a"}, {"a", "b"}, {"b"}, {"a", "a"}, {}, {"b", "a"}, {"a", "b"}, {"c", "b", "c", "a"}, {"d"}, {"c", "d"}, nil, {"a"},
		{"a", "a"}, {""}, {"", ""}, {"a"}, {"b", "b"}, {"b"},
	} {
		p := newPod("p", strconv.Itoa(i+1), values...)
		x.Apply("", []indexer.Write[*pod]{update(p)})
		for _, v := range []string{"", "a", "b", "c", "d"} {
			var want []*pod
			if slices.Contains(values, v) {
				want = []*pod{p}
			}
			require.Equal(t, want, ix.Get(v), "%s in %v", v, values)
		}
		require.NoError(t, x.Check())
	}
}

// Scenario 82.
func TestIndexKeepsNothingOfPastValues(t *testing.T) {
	x := strict(t)
	byIP := mustIndex(t, x, "ip", indexer.One(func(p *pod) string { return p.Labels[0] }))
	churn := func(from, to int) int {
		for i := from; i < to; i++ {
			s := strconv.Itoa(i)
			p := newPod("ns"+s+"/p"+s, s, s)
			x.Put(p)
			require.Equal(t, 1, byIP.Len(s))
			if i%3 == 0 { // the value goes by an update, too
				p = newPod("ns"+s+"/p"+s, s, s+"'")
				x.Put(p)
			}
			x.Delete(listwatch.KeyOf(p))
		}
		return measure.Held()
	}
	before := churn(0, some(5000))
	after := churn(some(5000), some(25_000))

	require.Empty(t, slices.Collect(byIP.Values()))
	require.Empty(t, slices.Collect(x.Reader().Namespaces().Values()))
	require.Equal(t, []indexer.IndexStats{{Name: "ip"}}, x.Reader().Stats().Indexes)
	require.Less(t, after, before+128<<10)
}

func TestMemoryIsGivenBack(t *testing.T) {
	x := strict(t)
	mustIndex(t, x, "label", labels)
	var keys []listwatch.Key
	var pods []*pod
	n := some(20_000)
	for i := range n {
		pods = append(pods, newPod("ns/p"+strconv.Itoa(i), "1", "same", "n"+strconv.Itoa(i%10)))
		keys = append(keys, listwatch.KeyOf(pods[i]))
	}
	empty := measure.Held()
	x.Put(pods...)
	full := measure.Held() - empty
	x.Delete(keys[10:]...)
	left := measure.Held() - empty
	require.Less(t, left, full/3, "%d bytes with %d objects, %d with 10", full, n, left)
	require.Equal(t, 10, x.Reader().Len())
	require.NoError(t, x.Check())
	runtime.KeepAlive(pods)
}

func TestIndexReads(t *testing.T) {
	x := strict(t)
	r := x.Reader()
	ix := mustIndex(t, x, "label", labels)
	p, q, o := newPod("n/p", "1", "a", "b"), newPod("n/q", "2", "a"), newPod("o", "3")
	x.Put(p, q, o)

	require.Equal(t, []*pod{p, q}, ix.Get("a"))
	require.Equal(t, []listwatch.Key{key("n/p"), key("n/q")}, ix.Keys("a"))
	require.Equal(t, 2, ix.Len("a"))
	require.ElementsMatch(t, []string{"a", "b"}, slices.Collect(ix.Values()))
	var seen []string
	for k, got := range ix.All("a") {
		require.Equal(t, k, listwatch.KeyOf(got))
		seen = append(seen, k.Name)
	}
	require.Equal(t, []string{"p", "q"}, seen)
	for range ix.All("a") {
		break
	}
	for range ix.Values() {
		break
	}

	require.Nil(t, ix.Get("none"))
	require.Nil(t, ix.Keys("none"))
	require.Zero(t, ix.Len("none"))
	for range ix.All("none") {
		require.Fail(t, "an object of no value")
	}

	require.Equal(t, []*pod{p, q}, r.Namespace("n"))
	require.Equal(t, []*pod{o}, r.Namespace(""))
	require.Nil(t, r.Namespace("none"))
	require.Equal(t, 2, r.Namespaces().Len("n"))
	require.ElementsMatch(t, []string{"n", ""}, slices.Collect(r.Namespaces().Values()))
	require.Equal(t, indexer.Stats{Objects: 3, Indexes: []indexer.IndexStats{{Name: "label", Values: 2}}}, r.Stats())
}

func TestIndexOrder(t *testing.T) {
	x := strict(t)
	ix := mustIndex(t, x, "label", labels)
	for _, name := range []string{"a", "b", "c", "d"} {
		x.Put(newPod(name, "1", "v"))
	}
	x.Put(newPod("b", "2", "v", "w")) // stays where it is
	require.Equal(t, []listwatch.Key{key("a"), key("b"), key("c"), key("d")}, ix.Keys("v"))
	x.Put(newPod("a", "2")) // the last takes its place
	require.Equal(t, []listwatch.Key{key("d"), key("b"), key("c")}, ix.Keys("v"))
	require.Equal(t, []listwatch.Key{key("a"), key("b"), key("c"), key("d")}, x.Reader().Keys())
	x.Delete(key("b"))
	require.Equal(t, []listwatch.Key{key("a"), key("d"), key("c")}, x.Reader().Keys())
	require.Equal(t, []listwatch.Key{key("d"), key("c")}, ix.Keys("v"))
}

func TestAddIndexBeforeAndAfter(t *testing.T) {
	x := strict(t)
	before := mustIndex(t, x, "before", labels)
	var pods []*pod
	for i := range 1000 {
		pods = append(pods, newPod(fmt.Sprintf("p%d", i), "1", fmt.Sprint(i%7), fmt.Sprint(i%11)))
	}
	x.Put(pods...)
	x.Delete(key("p3"), key("p999"), key("p500"))
	after, err := indexer.AddIndexFunc(x.Reader(), "after", func(p *pod, values []string) []string {
		return append(values, p.Labels...)
	})
	require.NoError(t, err)
	for v := range before.Values() {
		require.Equal(t, names(before.Get(v)), names(after.Get(v)))
	}
	require.NoError(t, x.Check())
	require.Len(t, x.Reader().Stats().Indexes, 2)
}

func TestAddIndexRefuses(t *testing.T) {
	x := strict(t)
	mustIndex(t, x, "label", labels)
	_, err := indexer.AddIndex(x.Reader(), "label", labels)
	require.ErrorIs(t, err, indexer.ErrIndexExists)
	require.EqualError(t, err, `indexer pods: index "label": index exists`)
	_, err = indexer.AddIndex(x.Reader(), "", labels)
	require.ErrorIs(t, err, indexer.ErrBadIndex)
	_, err = indexer.AddIndex[*pod, string](x.Reader(), "nil", nil)
	require.ErrorIs(t, err, indexer.ErrBadIndex)
	_, err = indexer.AddIndexFunc[*pod, string](x.Reader(), "nil", nil)
	require.ErrorIs(t, err, indexer.ErrBadIndex)
	require.Len(t, x.Reader().Stats().Indexes, 1)
}

func TestRemoveIndex(t *testing.T) {
	x := strict(t)
	r := x.Reader()
	ix := mustIndex(t, x, "label", labels)
	other := mustIndex(t, x, "other", labels)
	x.Put(newPod("p", "1", "a"))

	require.True(t, r.RemoveIndex("label"))
	require.False(t, r.RemoveIndex("label"))
	require.False(t, r.RemoveIndex(""))
	x.Put(newPod("q", "1", "a"))
	require.Nil(t, ix.Get("a"))
	require.Empty(t, slices.Collect(ix.Values()))
	require.Equal(t, []string{"p", "q"}, names(other.Get("a")))
	require.Len(t, r.Namespace(""), 2)

	again := mustIndex(t, x, "label", labels)
	require.Equal(t, []string{"p", "q"}, names(again.Get("a")))
	require.NoError(t, x.Check())
}

type address struct {
	ip   netip.Addr
	port int32
}

func TestIndexByAnyComparable(t *testing.T) {
	x := strict(t)
	p := newPod("p", "1", "10.0.0.1")
	x.Put(p)
	byAddr := mustIndex(t, x, "addr", indexer.One(func(p *pod) address { return address{netip.MustParseAddr(p.Labels[0]), 80} }))
	byLen := mustIndex(t, x, "len", indexer.One(func(p *pod) int32 { return int32(len(p.Labels)) }))
	byAny := mustIndex(t, x, "any", func(p *pod) []any { return []any{p.Name, len(p.Name), nil} })
	require.Equal(t, []*pod{p}, byAddr.Get(address{netip.MustParseAddr("10.0.0.1"), 80}))
	require.Equal(t, []*pod{p}, byLen.Get(1))
	require.Equal(t, []*pod{p}, byAny.Get("p"))
	require.Equal(t, []*pod{p}, byAny.Get(1))
	require.Equal(t, []*pod{p}, byAny.Get(nil))

	// Asking for what cannot be a value is the caller's fault, and leaves no lock behind.
	require.Panics(t, func() { byAny.Get([]byte("p")) })
	x.Put(newPod("q", "1", "10.0.0.2"))
	require.Len(t, byAny.Get(nil), 2)
}

// faulty is a store that collects faults.
func faulty(t *testing.T) (*indexer.Indexer[*pod], func() []*indexer.Fault) {
	var faults []*indexer.Fault
	x := newStore[*pod](indexer.Options{Name: "pods", OnError: func(err error) {
		var fault *indexer.Fault
		require.ErrorAs(t, err, &fault)
		faults = append(faults, fault)
	}})
	return x, func() []*indexer.Fault { f := faults; faults = nil; return f }
}

var errBoom = errors.New("boom")

func explode(p *pod) []string {
	if slices.Contains(p.Labels, "boom") {
		panic(errBoom)
	}
	return p.Labels
}

func TestPanicOfAnIndexFunction(t *testing.T) {
	x, faults := faulty(t)
	ix := mustIndex(t, x, "label", explode)
	sound := mustIndex(t, x, "sound", labels)
	x.Put(newPod("p", "1", "a"), newPod("q", "1", "a"))
	require.Empty(t, faults())

	p := newPod("p", "2", "a", "boom")
	x.Put(p, newPod("q", "2", "a"), newPod("r", "1", "boom"), newPod("s", "1", "b"))

	got, ok := x.Get(key("p"))
	require.True(t, ok)
	require.Same(t, p, got)
	require.Equal(t, []string{"q"}, names(ix.Get("a")))
	require.Nil(t, ix.Get("boom"))
	require.Equal(t, []string{"s"}, names(ix.Get("b")))
	require.Equal(t, []string{"p", "q"}, names(sound.Get("a")))
	fs := faults()
	require.Len(t, fs, 1)
	require.EqualError(t, fs[0], "indexer pods: index label: object p: panic: boom (and 1 more)")
	require.ErrorIs(t, fs[0], errBoom)
	require.Contains(t, string(fs[0].Stack), "explode")
	require.Equal(t, uint64(2), x.Reader().Stats().Indexes[0].Faults)
	require.NoError(t, x.Check())

	// The object is back as soon as the function is content with it.
	x.Put(newPod("p", "3", "a"))
	require.Equal(t, []string{"p", "q"}, names(ix.Get("a")))
	require.NoError(t, x.Check())
}

func TestPanicWhileAddingAnIndex(t *testing.T) {
	x, faults := faulty(t)
	for i := range 600 {
		x.Put(newPod(fmt.Sprintf("p%d", i), "1", "a"))
		x.Put(newPod(fmt.Sprintf("q%d", i), "1", "boom"))
	}
	ix := mustIndex(t, x, "label", explode)
	require.Equal(t, 600, ix.Len("a"))
	fs := faults()
	require.Len(t, fs, 1)
	require.Equal(t, key("q0"), fs[0].Key)
	require.Equal(t, 599, fs[0].More)
	require.NoError(t, x.Check())
}

func TestValuesThatCannotBeFound(t *testing.T) {
	x, faults := faulty(t)
	byFloat := mustIndex(t, x, "float", func(*pod) []float64 { return []float64{1, math.NaN(), 2, math.NaN()} })
	x.Put(newPod("p", "1"))
	x.Put(newPod("p", "2"))
	require.ElementsMatch(t, []float64{1, 2}, slices.Collect(byFloat.Values()))
	require.Zero(t, byFloat.Len(math.NaN()))
	fs := faults()
	require.Len(t, fs, 2)
	require.ErrorIs(t, fs[0], indexer.ErrBadValue)
	require.Equal(t, 1, fs[0].More)
	require.Nil(t, fs[0].Stack)

	byAny := mustIndex(t, x, "any", func(p *pod) []any {
		if p.Name == "q" {
			return []any{"q"}
		}
		return []any{"a", []byte("b")}
	})
	require.Empty(t, slices.Collect(byAny.Values()))
	fs = faults()
	require.Len(t, fs, 1)
	require.ErrorContains(t, fs[0], "panic: ")
	x.Put(newPod("p", "3"), newPod("q", "3")) // nothing of p goes to q
	require.Equal(t, []any{"q"}, slices.Collect(byAny.Values()))
	x.Delete(key("p"), key("q"))
	require.Empty(t, slices.Collect(byFloat.Values()))
	require.NoError(t, x.Check())
}

// What is asked for by a value that is no key of a map panics, and leaves no lock behind.
func TestIncomparableValueLeavesNoLock(t *testing.T) {
	x := strict(t)
	byAny := mustIndex(t, x, "any", func(p *pod) []any { return []any{p.Name} })
	for name, read := range map[string]func(){
		"Get":    func() { byAny.Get([]byte("p")) },
		"Keys":   func() { byAny.Keys([]byte("p")) },
		"Len":    func() { byAny.Len([]byte("p")) },
		"States": func() { byAny.States([]byte("p")) },
		"All": func() {
			for range byAny.All([]byte("p")) {
				t.Error("there is none")
			}
		},
	} {
		require.Panics(t, read, name)
	}
	put := make(chan struct{})
	go func() {
		defer close(put)
		x.Put(newPod("p", "1"))
	}()
	select {
	case <-put:
	case <-time.After(time.Minute):
		t.Fatal("a reader has kept its lock")
	}
	require.Equal(t, 1, byAny.Len("p"))
}

func TestFaultIsLoggedByDefault(t *testing.T) {
	var log []string
	restore := captureLog(&log)
	defer restore()
	x := newStore[*pod](indexer.Options{})
	mustIndex(t, x, "label", func(*pod) []string { panic("boom") })
	x.Put(newPod("p", "1"))
	require.Equal(t, []string{"failure in a store: indexer : index label: object p: panic: boom"}, log)
}

func TestValuesOfTheUsersOwnSliceStayHis(t *testing.T) {
	x := strict(t)
	ix, err := indexer.AddIndexFunc(x.Reader(), "label", func(p *pod, _ []string) []string { return p.Labels })
	require.NoError(t, err)
	p, q := newPod("p", "1", "a", "b", "c"), newPod("q", "1", "d")
	x.Put(p, q)
	x.Put(q, newPod("r", "1", "e", "f"))
	require.Equal(t, []string{"a", "b", "c"}, p.Labels)
	require.Equal(t, []string{"d"}, q.Labels)
	require.Equal(t, []*pod{p}, ix.Get("c"))
	require.NoError(t, x.Check())
}

// Most of many namespaces go, so that those that stay get other numbers; all of these are found, and new ones.
func TestManyNamespaces(t *testing.T) {
	x := strict(t)
	at := func(i int) *pod { return newPod("ns"+strconv.Itoa(i)+"/p", strconv.Itoa(i+1)) }
	const all, every = 4000, 40
	for i := range all {
		x.Put(at(i))
	}
	for i := range all {
		if i%every != 0 {
			x.Delete(listwatch.KeyOf(at(i)))
		}
	}
	for i := range all {
		got, ok := x.Reader().Get(listwatch.KeyOf(at(i)))
		require.Equal(t, i%every == 0, ok, i)
		if ok {
			require.Equal(t, at(i), got)
			require.Equal(t, []*pod{got}, x.Reader().Namespace(got.Namespace))
		}
	}
	x.Put(at(all))
	require.Equal(t, all/every+1, x.Reader().Len())
}

func TestManyValues(t *testing.T) {
	x := strict(t)
	ix := mustIndex(t, x, "label", labels)
	var many []string
	for i := range 5000 {
		many = append(many, strconv.Itoa(i))
	}
	reversed := slices.Clone(many)
	slices.Reverse(reversed)
	x.Put(newPod("p", "1", many...), newPod("q", "1", many[:100]...))
	x.Put(newPod("p", "2", reversed...))
	require.NoError(t, x.Check())
	require.Len(t, slices.Collect(ix.Values()), 5000)
	x.Put(newPod("p", "3"))
	require.Len(t, slices.Collect(ix.Values()), 100)
	require.NoError(t, x.Check())
}

func TestUpdateAllocatesNothing(t *testing.T) {
	if storage != nil {
		return // each state is memory of its own
	}
	x := strict(t)
	for _, name := range []string{"one", "two"} {
		_, err := indexer.AddIndexFunc(x.Reader(), name, func(p *pod, values []string) []string { return append(values, p.Labels...) })
		require.NoError(t, err)
	}
	p, q := newPod("n/p", "1", "a", "b"), newPod("n/p", "2", "b", "a")
	x.Put(newPod("n/o", "1", "a", "b"), p)
	writes := make([]indexer.Write[*pod], 1)
	allocs := testing.AllocsPerRun(100, func() {
		writes[0] = indexer.Write[*pod]{Head: headOf(p), Object: p, Force: true}
		x.Apply("1", writes)
		p, q = q, p
	})
	require.Zero(t, allocs)
}

func TestReadsAllocateWhatTheyReturn(t *testing.T) {
	x := strict(t)
	ix := mustIndex(t, x, "label", labels)
	for i := range 100 {
		x.Put(newPod("n/"+strconv.Itoa(i), "1", "a"))
	}
	r, k := x.Reader(), key("n/7")
	require.Zero(t, testing.AllocsPerRun(100, func() { r.Get(k); r.Head(k); r.Len(); ix.Len("a"); x.Mark(k, 1) }))
	allocs := map[string]float64{"List": 1, "Keys": 1, "Namespace": 1, "Index.Get": 1, "Index.Keys": 1}
	if storage != nil { // states are looked up before they are decoded
		allocs["List"], allocs["Namespace"], allocs["Index.Get"] = 2, 2, 2
	}
	for name, read := range map[string]func(){
		"List": func() { r.List() }, "Keys": func() { r.Keys() }, "Namespace": func() { r.Namespace("n") },
		"Index.Get": func() { ix.Get("a") }, "Index.Keys": func() { ix.Keys("a") },
	} {
		require.Equal(t, allocs[name], testing.AllocsPerRun(100, read), name)
	}
}

func TestMoveAllocatesNothing(t *testing.T) {
	if storage != nil {
		return // each state is memory of its own
	}
	x := strict(t)
	_, err := indexer.AddIndexFunc(x.Reader(), "label", func(p *pod, values []string) []string { return append(values, p.Labels...) })
	require.NoError(t, err)
	x.Put(newPod("n/a", "1", "a"), newPod("n/b", "1", "b"))
	p, q := newPod("n/p", "1", "a"), newPod("n/p", "2", "b")
	writes := make([]indexer.Write[*pod], 1)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		writes[0] = indexer.Write[*pod]{Head: headOf(p), Object: p, Force: true}
		x.Apply("1", writes)
		p, q = q, p
	}))
	require.NoError(t, x.Check())
}
