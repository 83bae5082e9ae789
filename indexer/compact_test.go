package indexer_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/indexer"
	"github.com/seed3bce33ad/listwatch/internal/measure"
	"github.com/seed3bce33ad/listwatch/internal/worker"
)

// counted is a store that counts what it decodes. It is not called for what is stored.
func counted(recent int) (*indexer.Indexer[*pod], *atomic.Int64) {
	decoded := new(atomic.Int64)
	return indexer.New[*pod](indexer.Options{Compact: &indexer.Compact{
		Recent: recent, Lossless: true,
		Decode: func(data []byte, v any) error { decoded.Add(1); return json.Unmarshal(data, v) },
	}}), decoded
}

func fill(x *indexer.Indexer[*pod], n int) (pods []*pod) {
	for i := range n {
		s := strconv.Itoa(i)
		pods = append(pods, newPod("n"+strconv.Itoa(i%3)+"/p"+s, s, "v"+strconv.Itoa(i%2)))
	}
	x.Put(pods...)
	return pods
}

// All ways to read give what was written, whatever was decoded before.
func TestCompactReads(t *testing.T) {
	for _, recent := range []int{1, 7, 1000} {
		x, _ := counted(recent)
		ix := mustIndex(t, x, "label", labels)
		pods := fill(x, 100)
		r := x.Reader()
		for range 2 {
			require.Equal(t, pods, r.List())
			var all, some []*pod
			for k, p := range r.All() {
				require.Equal(t, k, listwatch.KeyOf(p))
				all = append(all, p)
			}
			require.Equal(t, pods, all)
			for _, s := range r.States() {
				require.Equal(t, headOf(s.Object()), s.Head)
				object, ok := s.Decoded()
				require.Equal(t, ok, object != nil)
				require.True(t, object == nil || headOf(object) == s.Head)
			}
			for _, p := range ix.All("v1") {
				some = append(some, p)
			}
			require.Equal(t, some, ix.Get("v1"))
			require.Len(t, some, 50)
			for i, s := range ix.States("v1") {
				require.Equal(t, some[i], s.Object())
			}
			require.Equal(t, "p0", r.Namespace("n0")[0].Name)
			for _, p := range pods {
				got, ok := r.Get(listwatch.KeyOf(p))
				require.True(t, ok)
				require.Equal(t, p, got)
				s, ok := r.State(listwatch.KeyOf(p))
				require.True(t, ok)
				require.Equal(t, p, s.Object())
			}
		}
		_, ok := r.State(key("none"))
		require.False(t, ok)
		require.Nil(t, ix.States("none"))
		require.Zero(t, r.Stats().Plain)
		require.NoError(t, x.Check())
	}
}

// Only who asks for an object has it decoded, and not when it was read or written lately.
func TestCompactDecodesNothingInVain(t *testing.T) {
	x, decoded := counted(10)
	pods := fill(x, 100)
	r, last := x.Reader(), pods[99]
	require.Zero(t, decoded.Load())
	r.Head(key("n0/p0"))
	r.Keys()
	r.Explain(key("n0/p0"))
	r.States()
	x.Mark(key("n0/p0"), 3)
	x.Unmarked(3)
	x.Replace("100", pods...)
	newer := *pods[1]
	newer.ResourceVersion = "200"
	w := update(&newer)
	w.NoOld = true
	x.Apply("200", []indexer.Write[*pod]{w, w})
	x.Pack()
	x.Delete(key("n2/p2"))
	got, _ := x.Get(listwatch.KeyOf(last))
	require.Same(t, last, got)
	require.Zero(t, decoded.Load())

	first, _ := x.Get(key("n0/p0"))
	again, _ := x.Get(key("n0/p0"))
	require.Same(t, first, again)
	require.Equal(t, int64(1), decoded.Load())
	next := *pods[3]
	next.ResourceVersion = "201"
	writes := []indexer.Write[*pod]{update(&next)}
	x.Apply("201", writes)
	require.Equal(t, pods[3], writes[0].Old)
	require.Equal(t, int64(2), decoded.Load())
}

// A read of everything leaves what is asked for one by one.
func TestCompactListKeepsNothing(t *testing.T) {
	x, decoded := counted(20)
	fill(x, 100)
	for i := range 20 {
		x.Get(key(fmt.Sprintf("n%d/p%d", i%3, i)))
	}
	r := x.Reader()
	r.List()
	for range r.All() {
		continue
	}
	for range 2 {
		r.Namespace("n0")
	}
	decoded.Store(0)
	for i := range 20 {
		x.Get(key(fmt.Sprintf("n%d/p%d", i%3, i)))
	}
	require.Zero(t, decoded.Load())
}

// What is read again and again stays, while others are read once; and no more than Recent are kept.
func TestCompactKeepsRecent(t *testing.T) {
	x, decoded := counted(10)
	pods := fill(x, 200)
	hot := []listwatch.Key{listwatch.KeyOf(pods[0]), listwatch.KeyOf(pods[1]), listwatch.KeyOf(pods[2])}
	for i := range pods[3:] {
		x.Get(listwatch.KeyOf(pods[3+i]))
		for _, k := range hot {
			x.Get(k)
		}
	}
	require.Equal(t, int64(200), decoded.Load()) // each once
	for _, p := range pods[3:100] {
		before := decoded.Load()
		x.Get(listwatch.KeyOf(p))
		require.Equal(t, before+1, decoded.Load())
	}
	require.NoError(t, x.Check())
}

func TestCompactDecodesWithoutLock(t *testing.T) {
	entered, open := make(chan struct{}), make(chan struct{})
	var wait atomic.Bool
	x := indexer.New[*pod](indexer.Options{Compact: &indexer.Compact{
		Recent: 1,
		Decode: func(data []byte, v any) error {
			if wait.CompareAndSwap(true, false) {
				entered <- struct{}{}
				<-open
			}
			return json.Unmarshal(data, v)
		},
	}})
	pods := fill(x, 10)
	r := x.Reader()
	for _, read := range []func(){
		func() { r.Get(key("n0/p0")) }, func() { r.List() }, func() { r.Namespace("n0") },
		func() {
			for range r.All() {
				continue
			}
		},
		func() { r.States()[0].Object() },
	} {
		var group worker.Group
		wait.Store(true)
		group.Go(read)
		<-entered
		x.Put(pods[5])
		require.Len(t, r.List(), 10)
		open <- struct{}{}
		group.Wait()
	}
}

// misfit is an object that JSON does not hold, in one way or another.
type misfit struct {
	listwatch.Meta
	Number float64
	Hidden string `json:"-"`
	hidden string
	Any    any
}

// What can't be encoded is held as it is, and heard of.
func TestCompactKeepsWhatItCannotEncode(t *testing.T) {
	var heard []*indexer.EncodeError
	var refuse error
	x := indexer.New[*misfit](indexer.Options{Name: "odd", OnError: func(err error) {
		var e *indexer.EncodeError
		require.ErrorAs(t, err, &e)
		heard = append(heard, e)
	}, Compact: &indexer.Compact{Recent: 1, Encode: func(o any) ([]byte, error) {
		if o.(*misfit).Hidden == "panic" {
			panic("boom")
		}
		data, err := json.Marshal(o)
		return data, errors.Join(err, refuse)
	}}})
	refuse = errors.New("refused")
	sound := &misfit{Meta: listwatch.Meta{Name: "sound", ResourceVersion: "1"}}
	x.Put(sound)
	require.ErrorIs(t, heard[0], refuse)
	require.EqualError(t, heard[0], "indexer odd: object sound is not held compactly (1 so far): refused")
	refuse = nil

	odd := []*misfit{
		{Number: math.NaN()}, {Any: func() {}}, {Hidden: "lost"}, {hidden: "lost"}, {Any: 1.0}, {Any: uint8(1)},
		{Meta: listwatch.Meta{UID: "\xff"}}, {Hidden: "panic"},
	}
	for i, o := range odd {
		o.Name, o.ResourceVersion = "odd"+strconv.Itoa(i), "1"
		x.Put(o)
		require.Equal(t, i+2, x.Reader().Stats().Plain)
	}
	for _, o := range append(odd, sound) {
		got, ok := x.Get(listwatch.KeyOf(o))
		require.True(t, ok)
		require.Same(t, o, got)
	}
	var totals []uint64
	for _, e := range heard {
		totals = append(totals, e.Total)
	}
	require.Equal(t, []uint64{1, 2, 4, 8}, totals)
	require.ErrorIs(t, heard[2], indexer.ErrNotEqual)
	require.NoError(t, x.Check())

	for _, o := range odd {
		fixed := &misfit{Meta: listwatch.Meta{Name: o.Name, ResourceVersion: "2"}}
		x.Put(fixed)
	}
	require.Equal(t, 1, x.Reader().Stats().Plain)
	x.Delete(key("sound"))
	require.Zero(t, x.Reader().Stats().Plain)
	require.NoError(t, x.Check())
}

// What only Lossless hides is not looked at, and what Decode can't read any more panics.
func TestCompactTrustsTheUser(t *testing.T) {
	var broken atomic.Bool
	x := indexer.New[row](indexer.Options{Compact: &indexer.Compact{
		Recent: 1, Lossless: true,
		Encode: func(o any) ([]byte, error) { r := o.(row); return []byte(r.name + " " + r.version), nil },
		Decode: func(data []byte, v any) error {
			if broken.Load() {
				return errors.New("broken")
			}
			r := v.(*row)
			r.name, r.version, _ = strings.Cut(string(data), " ")
			return nil
		},
	}})
	x.Put(row{"a", "1"}, row{"b", "2"})
	got, ok := x.Get(key("a"))
	require.True(t, ok)
	require.Equal(t, row{"a", "1"}, got)
	broken.Store(true)
	require.PanicsWithValue(t, "indexer : what was decoded before is not any more: broken", func() { x.Get(key("b")) })
	broken.Store(false)
	x.Put(row{"c", "3"})
	require.Len(t, x.Reader().List(), 3)
}

func TestCompactRefusesAnOddSize(t *testing.T) {
	require.PanicsWithValue(t, "indexer x: option Recent is -1", func() {
		indexer.New[*pod](indexer.Options{Name: "x", Compact: &indexer.Compact{Recent: -1}})
	})
}

// What Apply has written is held as it is until somebody packs.
func TestCompactPack(t *testing.T) {
	x, _ := counted(1)
	p, q := newPod("p", "1"), newPod("p", "2")
	x.Apply("2", []indexer.Write[*pod]{update(p), update(q), update(newPod("o", "1"))})
	require.Equal(t, 2, x.Reader().Stats().Plain)
	x.Apply("3", []indexer.Write[*pod]{deletion(newPod("o", "3"))})
	require.Zero(t, x.Reader().Stats().Plain)
	x.Apply("3", []indexer.Write[*pod]{update(newPod("o", "4"))})
	x.Pack()
	x.Pack()
	require.Zero(t, x.Reader().Stats().Plain)
	require.NoError(t, x.Check())
}

// Objects that resemble one another take a small part of their memory.
func TestBoundsOfCompact(t *testing.T) {
	n := measure.Sized(1000, 5000)
	x := indexer.New[*pod](indexer.Options{Compact: &indexer.Compact{Recent: 10}})
	before := measure.Held()
	for i := range n {
		s := strconv.Itoa(i)
		p := newPod("ns/p"+s, s)
		for l := range 200 {
			p.Labels = append(p.Labels, fmt.Sprintf("a label that all have, number %d", l))
		}
		x.Put(p)
	}
	kept := (measure.Held() - before) / n
	t.Logf("%d bytes an object", kept)
	require.Less(t, kept, 1000) // of 9,800 with the strings
	require.Equal(t, 200, len(x.Reader().Namespace("ns")[17].Labels))
}

// FuzzCompact: any object comes back as it was, be it encoded or kept.
func FuzzCompact(f *testing.F) {
	f.Add("text", "", 1.5, []byte(`{"a":[1,2.5,"<b>"]}`))
	f.Add("\xff\x00", "hidden", math.Inf(1), []byte(`[]`))
	f.Fuzz(func(t *testing.T, text, hidden string, number float64, value []byte) {
		x := indexer.New[*misfit](indexer.Options{OnError: func(error) {}, Compact: &indexer.Compact{Recent: 1}})
		o := &misfit{Meta: listwatch.Meta{Name: "o", UID: text}, Hidden: hidden, Number: number}
		_ = json.Unmarshal(value, &o.Any)
		x.Put(&misfit{Meta: listwatch.Meta{Name: "first", UID: text[len(text)/2:]}}, o, &misfit{Meta: listwatch.Meta{Name: "last"}})
		got, ok := x.Get(key("o"))
		require.True(t, ok)
		require.True(t, reflect.DeepEqual(o, got), "%+v", got)
		require.NoError(t, x.Check())
	})
}

// Many goroutines that read one state get one copy, as long as it is kept.
func TestCompactSharesCopies(t *testing.T) {
	x, _ := counted(5)
	fill(x, 50)
	var group worker.Group
	seen := make([]*pod, 8)
	for n := range seen {
		group.Go(func() { seen[n], _ = x.Get(key("n0/p0")) })
	}
	group.Wait()
	require.Len(t, slices.Compact(seen), 1)
}
