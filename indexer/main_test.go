package indexer_test

import (
	"flag"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/indexer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(both{m}) }

// both runs all tests over a plain store, and again over a compact one.
type both struct{ *testing.M }

func (b both) Run() int {
	code := b.M.Run()
	if flag.Lookup("test.fuzz").Value.String() != "" || flag.Lookup("test.bench").Value.String() != "" || flag.Lookup("test.list").Value.String() != "" {
		return code
	}
	storage = &indexer.Compact{}
	if skip := flag.Lookup("test.skip").Value; skip.String() == "" { // what makes compact stores itself has run
		_ = skip.Set("Compact|OverEncodedObjects")
	}
	return max(code, b.M.Run())
}

// storage is that of the stores that tests make.
var storage *indexer.Compact

// some is how many of n writes a test does that does them one by one: a compact store compresses at each, and under the
// race detector often makes a compressor for it, as a sync.Pool forgets at random there.
func some(n int) int {
	if storage != nil {
		return n / 8
	}
	return n
}

func newStore[T listwatch.Object](o indexer.Options) *indexer.Indexer[T] {
	if o.Compact == nil {
		o.Compact = storage
	}
	return indexer.New[T](o)
}

var seedFlag = flag.Uint64("seed", 0, "seed of the random tests; 0: a new one")

// random returns a source whose seed is in the test's log.
func random(t *testing.T) *rand.Rand {
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 1))
}

// pod is an object with what the tests index by.
type pod struct {
	listwatch.Meta
	Node   string
	Labels []string
}

func newPod(key, version string, labels ...string) *pod {
	k, err := listwatch.ParseKey(key)
	if err != nil {
		panic(err)
	}
	return &pod{
		Meta:   listwatch.Meta{Namespace: k.Namespace, Name: k.Name, ResourceVersion: version},
		Labels: labels,
	}
}

func labels(p *pod) []string { return p.Labels }

func headOf(p *pod) listwatch.Head {
	return listwatch.Head{Key: listwatch.KeyOf(p), UID: p.UID, ResourceVersion: p.ResourceVersion}
}

func update(p *pod) indexer.Write[*pod] {
	return indexer.Write[*pod]{Head: headOf(p), Object: p}
}

func deletion(p *pod) indexer.Write[*pod] {
	return indexer.Write[*pod]{Head: headOf(p), Delete: true}
}

func key(s string) listwatch.Key {
	k, err := listwatch.ParseKey(s)
	if err != nil {
		panic(err)
	}
	return k
}

// names returns the keys of the objects, sorted.
func names(pods []*pod) []string {
	var s []string
	for _, p := range pods {
		s = append(s, listwatch.KeyOf(p).String())
	}
	slices.Sort(s)
	return s
}

// strict is a store that must not report faults.
func strict(t testing.TB) *indexer.Indexer[*pod] {
	return newStore[*pod](indexer.Options{Name: "pods", OnError: func(err error) { require.NoError(t, err) }})
}

func mustIndex[V comparable](t testing.TB, x *indexer.Indexer[*pod], name string, values func(*pod) []V) *indexer.Index[*pod, V] {
	ix, err := indexer.AddIndex(x.Reader(), name, values)
	require.NoError(t, err)
	return ix
}
