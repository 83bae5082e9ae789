package indexer_test

import (
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/internal/measure"
)

// crowd returns so many objects, each with a label of its own.
func crowd(n int) (pods []*pod, keys []listwatch.Key) {
	for i := range n {
		s := strconv.Itoa(i)
		pods = append(pods, newPod("ns/p"+s, s, s))
		keys = append(keys, listwatch.KeyOf(pods[i]))
	}
	return pods, keys
}

// What the store and an index of distinct values cost beside the objects, and that nothing of it
// is left when all but ten objects are gone.
func TestBoundsByKey(t *testing.T) {
	n := measure.Sized(some(20_000), 500_000)
	pods, keys := crowd(n)
	before := measure.Held()
	x := strict(t)
	ix := mustIndex(t, x, "label", labels)
	// Per key: a row 64, its mark and object 16, the table 24 at a load of 37 to 75 %, a member 8 in
	// each of the two indexes, a slot 24 in one, and for the value of its own a bucket 40, its
	// member and a map's place 24. Slices and maps may be half empty: 250 to 450.
	const perKey = 600
	for round := range 2 {
		x.Put(pods...)
		kept := measure.Held() - before
		require.Less(t, kept, n*perKey, "round %d", round)
		x.Delete(keys[10:]...)
		left := measure.Held() - before
		t.Logf("%d objects: %d bytes each; with ten left %d bytes", n, kept/n, left)
		// Room for a thousand in two maps and a table, about 40 each, and for as many buckets; a compact store has its sample
		// and its latest objects besides.
		bound := 256 << 10
		if storage != nil {
			bound += 128 << 10
		}
		require.Less(t, left, bound, "round %d", round)
	}
	require.Equal(t, 10, x.Reader().Len())
	require.Equal(t, 1, ix.Len("9"))
	require.NoError(t, x.Check())
	runtime.KeepAlive(pods)
	runtime.KeepAlive(keys)
}

// Keys and values come and go, at most 1,000 keys and 2,000 values at a time. The maps may grow
// once more by chance; what stayed for each key, its row or a bucket, would be more than that.
func TestBoundsOfChurn(t *testing.T) {
	const live = 1000
	x := strict(t)
	ix := mustIndex(t, x, "label", labels)
	next := 0
	churn := func(n int) int {
		for end := next + n; next < end; next++ {
			s, value := strconv.Itoa(next), strconv.Itoa(2*next)
			x.Put(newPod("ns"+s+"/p", s, value, value+"'"))
			if next >= live {
				gone := strconv.Itoa(next - live)
				x.Delete(key("ns" + gone + "/p"))
			}
		}
		return measure.Held()
	}
	warm := churn(some(10_000)) // maps have found their size
	grown := churn(measure.Sized(some(20_000), 1_000_000)) - warm
	t.Logf("%d bytes more", grown)
	require.Less(t, grown, 512<<10)
	require.Equal(t, live, x.Reader().Len())
	require.Len(t, ix.Keys(strconv.Itoa(2*next-2)), 1)
	require.NoError(t, x.Check())
}

// The objects stay, and each has a thousand values for a while.
func TestBoundsOfValues(t *testing.T) {
	const values = 1000
	objects := measure.Sized(20, 1000)
	x := strict(t)
	ix := mustIndex(t, x, "label", labels)
	var many, one []*pod
	for i := range objects {
		s := strconv.Itoa(i)
		var own []string
		for v := range values {
			own = append(own, s+"/"+strconv.Itoa(v))
		}
		many = append(many, newPod("ns/p"+s, "1", own...))
		one = append(one, newPod("ns/p"+s, "1", "same"))
	}
	x.Put(one...)
	before := measure.Held()
	x.Put(many...)
	// Per value: the bucket 40, its member 8, its place 8, the map's place 24, halves empty.
	kept := measure.Held() - before
	require.Less(t, kept, objects*values*250)
	require.Equal(t, 1, ix.Len("7/999"))
	x.Put(one...)
	// Per object: what 64 values need is kept for the next time, 8 each.
	left := measure.Held() - before
	t.Logf("%d values: %d bytes each; with one left %d bytes", objects*values, kept/(objects*values), left)
	require.Less(t, left, 256<<10+objects*64*16)
	require.Equal(t, objects, ix.Len("same"))
	require.NoError(t, x.Check())
	runtime.KeepAlive(many)
	runtime.KeepAlive(one)
}
