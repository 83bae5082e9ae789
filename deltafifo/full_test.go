package deltafifo_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/deltafifo"
)

// Nobody pops, and every comparing list shows what no watch has told: it adds no more than the
// queue has room for, nothing that it had is lost, and it goes on once there is room.
func TestCompareOfAFullQueue(t *testing.T) {
	const limit = 100
	r := newRig(t, deltafifo.Options{Limit: limit})
	r.fill("1", crowd(10, 1)...)
	compare := func(version int) error {
		r.apply(event(listwatch.Bookmark, nil, strconv.Itoa(version)))
		s := r.q.Begin(listwatch.Compare)
		defer s.Abort()
		put(t, s, crowd(10, version)...)
		return s.Commit(strconv.Itoa(version))
	}
	version, full := 1, 0
	for range 1000 {
		version++
		if err := compare(version); err != nil {
			require.ErrorIs(t, err, deltafifo.ErrFull)
			full++
		}
	}
	require.Equal(t, 110, r.q.Stats().Deltas)
	require.Equal(t, 989, full)
	require.EqualValues(t, 110, r.q.Stats().Drift)
	lines, batch := r.pop(0)
	require.Len(t, lines, 110)
	require.Equal(t, strconv.Itoa(version), batch.Version)
	require.NoError(t, compare(version))
	r.pop(0)
	for _, h := range r.store.heads() {
		require.Equal(t, strconv.Itoa(version), h.ResourceVersion)
	}
	r.quiet()
}
