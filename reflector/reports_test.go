package reflector_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/reflector"
)

// A collection that can't be taken at all, of a wrong kind perhaps, is told of by its first objects, and
// not by every list anew.
func TestRefusalsAreToldInBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := answer()
		source.WatchFunc = lively
		source.ListFunc = func(_ context.Context, o listwatch.ListOptions, _ listed) (listwatch.ListMeta, error) {
			for i := range 1000 {
				head := listwatch.Head{Key: listwatch.Key{Name: fmt.Sprint(i)}, ResourceVersion: "5"}
				if err := o.Refused(head, listwatch.ErrWrongKind); err != nil {
					return listwatch.ListMeta{}, err
				}
			}
			return listwatch.ListMeta{ResourceVersion: "10"}, nil
		}
		heard := 0
		o := options()
		o.OnError = func(err error) {
			if errors.Is(err, listwatch.ErrWrongKind) {
				heard++
			}
		}
		h := run(t, source, o, 5*time.Hour+time.Minute)
		require.Equal(t, uint64(5), h.Compares)
		require.Equal(t, reflector.MaxRefused+1, heard)
		require.Len(t, h.Refused, reflector.MaxRefused)
	})
}

// A watch that begins anew with all that exists is told of once, not by each object, and each time a
// list looks for what it did not say.
func TestOldStatesAreToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		watches := 0
		source := answer()
		source.WatchFunc = func(ctx context.Context, o listwatch.WatchOptions, each watched) error {
			watches++
			for i := range 1000 {
				old := listwatch.Event[*row]{Type: listwatch.Added, Object: newRow(fmt.Sprint(i), "5"), ResourceVersion: "5"}
				if err := each(old); err != nil {
					return err
				}
			}
			return lively(ctx, o, each)
		}
		var heard []error
		o := options()
		o.OnError = func(err error) { heard = append(heard, err) }
		h := run(t, source, o, 10*time.Minute)
		require.Len(t, heard, 1)
		require.ErrorIs(t, heard[0], listwatch.ErrProtocol)
		require.Equal(t, uint64(1), h.Gaps)
		require.Equal(t, 4, watches)
		require.Equal(t, uint64(4), h.Compares)
	})
}
