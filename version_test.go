package listwatch_test

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
)

func TestVersionsCompareAsNumbers(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("9", 40)
	for _, row := range []struct {
		a, b string
		want int
	}{
		{"1", "1", 0}, {"9", "10", -1}, {"10", "9", 1}, {"007", "7", 0}, {"0", "00", 0},
		{"18446744073709551615", "18446744073709551616", -1}, {long, long + "0", -1}, {long, long, 0},
	} {
		got, err := listwatch.CompareVersions(row.a, row.b)
		require.NoError(t, err)
		require.Equal(t, row.want, got, "%s and %s", row.a, row.b)
		require.Equal(t, row.want > 0, listwatch.Newer(row.a, row.b))
	}
}

func TestOtherVersionsAreOpaque(t *testing.T) {
	t.Parallel()
	for _, same := range []string{"", "abc", "1a", "-1", "1.5"} {
		got, err := listwatch.CompareVersions(same, same)
		require.NoError(t, err)
		require.Zero(t, got)
	}
	for _, pair := range [][2]string{{"", "1"}, {"a", "b"}, {"1", "-1"}, {"1", "1 "}, {"+1", "2"}, {"٣", "3"}} {
		_, err := listwatch.CompareVersions(pair[0], pair[1])
		require.ErrorIs(t, err, listwatch.ErrIncomparable)
		require.False(t, listwatch.Newer(pair[0], pair[1]))
		require.False(t, listwatch.Newer(pair[1], pair[0]))
	}
}

func FuzzCompareVersions(f *testing.F) {
	f.Add("1", "2")
	f.Add("007", "7")
	f.Add("x", "")
	f.Fuzz(func(t *testing.T, a, b string) {
		got, err := listwatch.CompareVersions(a, b)
		reverse, reverseErr := listwatch.CompareVersions(b, a)
		require.Equal(t, err == nil, reverseErr == nil)
		require.Equal(t, got, -reverse)
		number := func(s string) (*big.Int, bool) {
			if s == "" || strings.Trim(s, "0123456789") != "" {
				return nil, false
			}
			return new(big.Int).SetString(s, 10)
		}
		na, okA := number(a)
		nb, okB := number(b)
		switch {
		case okA && okB:
			require.NoError(t, err)
			require.Equal(t, na.Cmp(nb), got)
		case a == b:
			require.NoError(t, err)
			require.Zero(t, got)
		default:
			require.ErrorIs(t, err, listwatch.ErrIncomparable)
		}
	})
}

func BenchmarkCompareVersions(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if c, err := listwatch.CompareVersions("1234567", "1234568"); c >= 0 || err != nil {
			b.Fatal(c, err)
		}
	}
}

func ExampleCompareVersions() {
	c, err := listwatch.CompareVersions("9", "10")
	fmt.Println(c, err)
	_, err = listwatch.CompareVersions("v9", "v10")
	fmt.Println(err)
	// Output:
	// -1 <nil>
	// versions cannot be ordered: "v9" and "v10"
}
