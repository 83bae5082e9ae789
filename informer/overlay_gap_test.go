package informer_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/informer"
)

// What a watch has delivered so that nobody could take it is not shown, though the position has
// passed it: nothing says that it is until a list has repaired that.
func TestGapKeepsOwnWrites(t *testing.T) {
	for _, kind := range []fakes.FaultKind{
		fakes.FaultNameless, fakes.FaultGarbage, fakes.FaultUnknownEvent, fakes.FaultWrongKind, fakes.FaultOversize,
	} {
		t.Run(kind.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newOwnRig(t, informer.OverlayOptions{})
				r.release()
				require.NoError(t, r.server.Inject(fakes.Fault{Kind: kind, N: 1}))
				made := r.wrote("n", "new")
				caught, reached := r.own.Caught(), r.Reached(made.ResourceVersion)
				for range 3 { // a gap without version is known to be over when others have come
					r.put("foreign", "foreign")
				}
				synctest.Wait()
				require.True(t, r.Health().Source.Gap)
				_, held := r.Indexer().Get(key("n"))
				require.False(t, held, "the watch has lost it")
				_, held = r.Indexer().Get(key("foreign"))
				require.True(t, held)
				r.shows("n", "new")
				require.True(t, r.own.Whole())
				for _, signal := range []*listwatch.Signal{caught, reached, r.own.Caught(), r.Reached(made.ResourceVersion)} {
					require.False(t, signal.Fired())
				}
				reached.AfterFunc(func() { r.shows("n", "new") })
				time.Sleep(10 * time.Second)
				synctest.Wait()
				require.True(t, caught.Fired() && reached.Fired())
				require.False(t, r.Health().Source.Gap)
				r.sync().asTheCache()
			})
		})
	}
}

func (r *ownRig) sync() *ownRig { r.rig.sync(); return r }

// Nothing was left of what was lost: no change tells that a list has looked.
func TestGapInWhichNothingIsLeft(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOwnRig(t, informer.OverlayOptions{})
		r.release()
		require.NoError(t, r.server.Inject(fakes.Fault{Kind: fakes.FaultUnknownEvent, N: 2}))
		r.wrote("n", "new")
		r.drop("n")
		for range 3 {
			r.put("foreign", "foreign")
		}
		synctest.Wait()
		r.shows("n", "new")
		caught := r.own.Caught()
		require.False(t, caught.Fired())
		time.Sleep(10 * time.Second)
		synctest.Wait()
		require.True(t, caught.Fired())
		r.sync().asTheCache()
	})
}
