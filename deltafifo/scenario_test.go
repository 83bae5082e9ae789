package deltafifo_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/deltafifo"
)

// equal fails with a diff unless got is want.
func equal(t *testing.T, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("(-want +got)\n%s", diff)
	}
}

// Scenario 1.
func TestReplaceAfterQueuedDelete(t *testing.T) {
	r := newRig(t, deltafifo.Options{})
	r.fill("1", newPod("foo", "U1", "1"))
	require.NoError(t, r.q.Delete(t.Context(), newPod("foo", "U1", "1")))
	require.NoError(t, r.q.Replace(t.Context(), "2", newPod("foo", "U2", "2")))
	lines, _ := r.pop(1)
	equal(t, []string{"Deleted foo/U1@1 was 1", "Replaced foo/U2@2"}, lines)
	equal(t, []listwatch.Head{{Key: key("foo"), UID: "U2", ResourceVersion: "2"}}, r.store.heads())
	r.quiet()
}

// Scenarios 2, 3.
func TestShortLivedObjectIsSwept(t *testing.T) {
	v1, v2 := newPod("foo", "U", "1"), newPod("foo", "U", "3")
	add := func(p *pod) func(*rig) {
		return func(r *rig) { require.NoError(r.t, r.q.Add(r.t.Context(), p)) }
	}
	remove := func(r *rig) { require.NoError(r.t, r.q.Delete(r.t.Context(), newPod("foo", "U", "2"))) }
	empty := func(r *rig) { require.NoError(r.t, r.q.Replace(r.t.Context(), "5")) }
	first := "Added foo/U@1"
	cases := map[string]struct {
		steps []func(*rig)
		want  []string
	}{
		"add, empty list":                 {[]func(*rig){add(v1), empty}, []string{first, "Deleted foo/U@5 was 1 +unknown"}},
		"add, delete, empty list":         {[]func(*rig){add(v1), remove, empty}, []string{first, "Deleted foo/U@2 was 2"}},
		"add, two empty lists":            {[]func(*rig){add(v1), empty, empty}, []string{first, "Deleted foo/U@5 was 1 +unknown"}},
		"add, delete, add v2, empty list": {[]func(*rig){add(v1), remove, add(v2), empty}, []string{first, "Deleted foo/U@2 was 2", "Added foo/U@3", "Deleted foo/U@5 was 3 +unknown"}},
	}
	rigs := map[string]func(*testing.T) *rig{
		"store": func(t *testing.T) *rig { return newRig(t, deltafifo.Options{}) }, "no store": newBareRig,
	}
	for name, c := range cases {
		for kind, make := range rigs {
			t.Run(name+"/"+kind+"/queued", func(t *testing.T) {
				r := make(t)
				for _, step := range c.steps {
					step(r)
				}
				lines, _ := r.pop(0)
				equal(t, c.want, lines)
				r.empty()
			})
			// The Added has been popped, and its processing has not returned, before or after it
			// has reached the store.
			for _, written := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/in flight, written %v", name, kind, written), func(t *testing.T) {
					r := make(t)
					c.steps[0](r)
					var lines []string
					require.NoError(t, r.q.Pop(t.Context(), 0, func(b deltafifo.Batch[*pod]) error {
						lines = showAll(b)
						if written {
							r.write(b)
						}
						for _, step := range c.steps[1:] {
							step(r)
						}
						if !written {
							r.write(b)
						}
						return nil
					}))
					rest, _ := r.pop(0)
					equal(t, c.want, append(lines, rest...))
					r.empty()
				})
			}
		}
	}
}

func (r *rig) empty() {
	r.t.Helper()
	if r.store != nil {
		equal(r.t, []listwatch.Head{}, r.store.heads())
	}
	r.quiet()
}

// Scenario 5.
func TestRelistBringsWhatIsNewer(t *testing.T) {
	r := newRig(t, deltafifo.Options{})
	r.fill("1", newPod("pod", "U1", "1"))
	require.NoError(t, r.q.Replace(t.Context(), "6", newPod("pod", "U1", "5"), newPod("pod2", "U2", "6")))
	lines, batch := r.pop(0)
	equal(t, []string{"Replaced pod/U1@5", "Replaced pod2/U2@6"}, lines)
	equal(t, deltafifo.Batch[*pod]{Version: "6", Exact: true, Synced: true}, batch)
}

// Scenario 6: neither bodies nor deltas, and the store keeps its pointers.
func TestRelistOfUnchangedIsQuiet(t *testing.T) {
	r := newRig(t, deltafifo.Options{})
	var pods, again []*pod
	for i := range 100 {
		name, version := fmt.Sprintf("p%d", i), fmt.Sprint(i+1)
		pods, again = append(pods, newPod(name, "", version)), append(again, newPod(name, "", version))
	}
	r.fill("100", pods...)
	s := r.q.Begin(listwatch.Rebuild)
	for i, p := range again {
		if i%2 == 0 {
			put(t, s, p)
		} else {
			require.True(t, s.Known(headOf(p)))
		}
	}
	require.NoError(t, s.Commit("100"))
	r.quiet()
	for _, p := range pods {
		held, _ := r.store.Get(listwatch.KeyOf(p))
		require.Same(t, p, held)
	}
}

// Scenario 7.
func TestOneKeyTwiceInOneList(t *testing.T) {
	for _, mode := range []listwatch.Mode{listwatch.Rebuild, listwatch.Compare, listwatch.Reset} {
		for _, versions := range [][2]string{{"1", "2"}, {"2", "1"}} {
			t.Run(fmt.Sprint(mode, versions), func(t *testing.T) {
				r := newRig(t, deltafifo.Options{})
				s := r.q.Begin(mode)
				put(t, s, newPod("foo", "U", versions[0]), newPod("foo", "U", versions[1]))
				require.NoError(t, s.Commit("2"))
				require.False(t, r.q.HasSynced())
				require.Equal(t, 1, r.q.Len())
				r.pop(1)
				require.True(t, r.q.HasSynced())
				equal(t, []listwatch.Head{{Key: key("foo"), UID: "U", ResourceVersion: "2"}}, r.store.heads())
			})
		}
	}
}

// Scenario 7: the second comes when the first has left the queue.
func TestOneKeyTwiceInOneListAcrossPop(t *testing.T) {
	for _, mode := range []listwatch.Mode{listwatch.Rebuild, listwatch.Reset} {
		t.Run(mode.String(), func(t *testing.T) {
			r := newRig(t, deltafifo.Options{})
			s := r.q.Begin(mode)
			put(t, s, newPod("foo", "U", "7"))
			r.pop(0)
			for _, older := range []string{"5", "6", "5"} {
				put(t, s, newPod("foo", "U", older))
			}
			require.NoError(t, s.Commit("7"))
			lines, _ := r.pop(0)
			equal(t, []string{}, lines)
			equal(t, []listwatch.Head{{Key: key("foo"), UID: "U", ResourceVersion: "7"}}, r.store.heads())
		})
	}
}

// Scenario 9.
func TestNothingIsQueuedAgain(t *testing.T) {
	r := newRig(t, deltafifo.Options{})
	r.apply(event(listwatch.Added, newPod("foo", "", "1"), "1"), event(listwatch.Added, newPod("bar", "", "2"), "2"))
	broken := errors.New("broken")
	err := r.q.Pop(t.Context(), 1, func(deltafifo.Batch[*pod]) error {
		r.apply(event(listwatch.Modified, newPod("foo", "", "3"), "3"))
		return broken
	})
	require.ErrorIs(t, err, broken)
	lines, _ := r.pop(0)
	equal(t, []string{"Added bar/@2", "Updated foo/@3"}, lines)
	equal(t, []listwatch.Head{{Key: key("bar"), ResourceVersion: "2"}, {Key: key("foo"), ResourceVersion: "3"}}, r.store.heads())
	require.Panics(t, func() {
		r.apply(event(listwatch.Modified, newPod("foo", "", "4"), "4"), event(listwatch.Modified, newPod("bar", "", "5"), "5"))
		_ = r.q.Pop(t.Context(), 1, func(deltafifo.Batch[*pod]) error { panic("foo") })
	})
	lines, _ = r.pop(0)
	equal(t, []string{"Updated bar/@5"}, lines)
	r.quiet()
}

// Scenario 10.
func TestHasSyncedWaitsForProcess(t *testing.T) {
	r := newRig(t, deltafifo.Options{})
	require.NoError(t, r.q.Replace(t.Context(), "1", newPod("foo", "", "1")))
	require.NoError(t, r.q.Pop(t.Context(), 0, func(b deltafifo.Batch[*pod]) error {
		require.True(t, b.Synced)
		require.False(t, r.q.HasSynced())
		r.apply(event(listwatch.Modified, newPod("foo", "", "2"), "2"), event(listwatch.Modified, newPod("foo", "", "3"), "3"))
		require.False(t, r.q.HasSynced())
		r.write(b)
		return nil
	}))
	require.True(t, r.q.HasSynced())
	lines, _ := r.pop(0)
	equal(t, []string{"Updated foo/@2", "Updated foo/@3"}, lines)
	// Neither a later list nor a drift takes it back.
	require.NoError(t, r.q.Replace(t.Context(), "9", newPod("new", "", "8")))
	require.True(t, r.q.HasSynced())
}

// Scenario 10: the last initial item is in process when the list is committed.
func TestHasSyncedWaitsForItemInFlightAtCommit(t *testing.T) {
	r := newRig(t, deltafifo.Options{})
	s := r.q.Begin(listwatch.Rebuild)
	put(t, s, newPod("foo", "", "1"))
	require.NoError(t, r.q.Pop(t.Context(), 0, func(b deltafifo.Batch[*pod]) error {
		require.False(t, b.Synced)
		require.NoError(t, s.Commit("1"))
		require.False(t, r.q.HasSynced())
		return nil
	}))
	require.True(t, r.q.HasSynced())
	lines, batch := r.pop(0)
	equal(t, []string{}, lines)
	equal(t, deltafifo.Batch[*pod]{Version: "1", Exact: true, Synced: true}, batch)
}

// Scenario 11.
func TestOrderOfSnapshot(t *testing.T) {
	r := newRig(t, deltafifo.Options{})
	r.fill("3", newPod("z", "", "1"), newPod("p1", "", "1"), newPod("p2", "", "2"), newPod("p3", "", "3"))
	var seen []string
	r.store.changed = func(d *deltafifo.Delta[*pod]) {
		held := "none"
		if e := r.store.held[d.Head.Key]; e != nil {
			held = e.head.ResourceVersion
		}
		seen = append(seen, fmt.Sprint(d.Head.Key, " ", held))
	}
	require.NoError(t, r.q.Replace(t.Context(), "6", newPod("p1", "", "4"), newPod("p2", "", "5"), newPod("p4", "", "6")))
	lines, _ := r.pop(0)
	equal(t, []string{
		"Replaced p1/@4", "Replaced p2/@5", "Replaced p4/@6",
		"Deleted p3/@6 was 3 +unknown", "Deleted z/@6 was 1 +unknown",
	}, lines)
	equal(t, []string{"p1 4", "p2 5", "p4 6", "p3 none", "z none"}, seen)
}
