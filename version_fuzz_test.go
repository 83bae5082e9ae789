package listwatch_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
)

// FuzzVersionOrder: versions that can be ordered are in one order, whichever are asked about, and
// Newer says the same.
func FuzzVersionOrder(f *testing.F) {
	f.Add("1", "2", "10")
	f.Add("007", "7", "18446744073709551616")
	f.Add("a", "", "1")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		compare := func(x, y string) (int, bool) {
			order, err := listwatch.CompareVersions(x, y)
			require.Equal(t, err == nil && order > 0, listwatch.Newer(x, y), "%q and %q", x, y)
			require.Equal(t, err == nil && order < 0, listwatch.Newer(y, x), "%q and %q", y, x)
			return order, err == nil
		}
		for _, v := range []string{a, b, c} {
			order, known := compare(v, v)
			require.True(t, known && order == 0)
		}
		ab, knownAB := compare(a, b)
		bc, knownBC := compare(b, c)
		ac, knownAC := compare(a, c)
		if !knownAB || !knownBC {
			return
		}
		require.True(t, knownAC, "to be ordered passes on")
		if ab == bc || ab == 0 || bc == 0 {
			require.Equal(t, slices.MaxFunc([]int{ab, bc}, func(x, y int) int { return x*x - y*y }), ac)
		}
	})
}
