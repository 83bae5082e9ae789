package deltafifo_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/deltafifo"
)

// A key that was listed is never deleted by that list, whatever comes in between.
func TestListedIsNotSweptWithLiveChange(t *testing.T) {
	for _, versions := range [][2]string{{"5", "5"}, {"5", "4"}, {"x", "y"}, {"", ""}} {
		t.Run(versions[0]+" "+versions[1], func(t *testing.T) {
			r := newRig(t, deltafifo.Options{})
			r.fill("10", newPod("a", "", versions[0]))
			s := r.q.Begin(listwatch.Rebuild)
			put(t, s, newPod("a", "", versions[0]))
			require.NoError(t, r.q.Update(t.Context(), newPod("a", "", versions[1])))
			require.NoError(t, s.Commit("10"))
			lines, _ := r.pop(0)
			equal(t, []string{"Updated a/@" + versions[1]}, lines)

			s = r.q.Begin(listwatch.Rebuild)
			put(t, s, newPod("a", "", versions[1]))
			require.NoError(t, r.q.Update(t.Context(), newPod("a", "", versions[1])))
			require.NoError(t, r.q.Pop(t.Context(), 0, func(b deltafifo.Batch[*pod]) error {
				require.NoError(t, s.Commit("10"))
				r.write(b)
				return nil
			}))
			if versions[1] == "4" { // older than held, though the list is not: a restore
				lines, _ = r.pop(0)
				equal(t, []string{"Replaced a/@4 +force"}, lines)
			}
			require.Zero(t, r.q.Len())
		})
	}
}

// writesDuring is a store that is written to just before and after it is asked for what has no
// mark.
type writesDuring struct {
	*memory
	before, after func()
}

func (w *writesDuring) Unmarked(generation uint64) []listwatch.Head {
	w.before()
	heads := w.memory.Unmarked(generation)
	w.after()
	return heads
}

func TestSweepWhileProcessWrites(t *testing.T) {
	old := newPod("old", "U", "1")
	deleted := event(listwatch.Deleted, old, "2")
	again := event(listwatch.Added, newPod("old", "V", "3"), "3")
	for name, c := range map[string]struct{ flight, queued []listwatch.Event[*pod] }{
		"a new key comes":                          {flight: []listwatch.Event[*pod]{event(listwatch.Added, newPod("new", "U", "2"), "2")}},
		"a held key goes":                          {flight: []listwatch.Event[*pod]{deleted}},
		"a held key is exchanged":                  {flight: []listwatch.Event[*pod]{deleted, again}},
		"a held key goes, its next life is queued": {[]listwatch.Event[*pod]{deleted}, []listwatch.Event[*pod]{again}},
	} {
		for _, early := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, early %v", name, early), func(t *testing.T) {
				nothing := func() {}
				store := &writesDuring{newMemory(), nothing, nothing}
				r := &rig{t: t, q: deltafifo.New[*pod](store, deltafifo.Options{}), store: store.memory}
				r.fill("1", old)
				r.apply(c.flight...)
				require.NoError(t, r.q.Pop(t.Context(), 0, func(b deltafifo.Batch[*pod]) error {
					r.apply(c.queued...)
					write := sync.OnceFunc(func() { r.write(b) })
					if store.after = write; early {
						store.before = write
					}
					require.NoError(t, r.q.Replace(t.Context(), "9"))
					return nil
				}))
				if r.q.Len() > 0 {
					r.pop(0)
				}
				equal(t, []listwatch.Head{}, store.heads())
			})
		}
	}
}
