package growth

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestCases runs each case once in a tiny size, in which what it finds of memory says nothing.
func TestCases(t *testing.T) {
	s := size{
		objects: []int{10, 100}, compact: []int{100}, handlers: []int{1, 10}, informers: []int{1, 10},
		updated: 10, rounds: 2, deliveries: 100, watched: 10, many: 10, held: 2,
	}
	for _, c := range cases(s) {
		t.Run(c.Name+"/"+c.Side, func(t *testing.T) {
			m, err := c.Run(t.Context(), false)
			require.NoError(t, err)
			for _, name := range []string{"sync_ns_per_object", "update_ns", "ns_per_delivery", "update_us_per_informer"} {
				if value, ok := m[name]; ok {
					require.Positive(t, value, name)
				}
			}
		})
	}
}
