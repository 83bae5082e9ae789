package fakes_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/internal/worker"
	"github.com/stretchr/testify/require"
)

type change = informer.Change[object]

func state(value, version string) object {
	return &fakes.Object{Meta: listwatch.Meta{Namespace: "ns", Name: "a", ResourceVersion: version, UID: "1"}, Value: value}
}

func added(o object) change { return change{Type: informer.Add, Key: listwatch.KeyOf(o), Object: o} }
func deleted(old, o object) change {
	return change{Type: informer.Delete, Key: listwatch.KeyOf(o), Object: o, Old: old}
}
func updated(old, o object) change {
	return change{Type: informer.Update, Key: listwatch.KeyOf(o), Object: o, Old: old}
}

// reporter is a test that notes what is reported.
type reporter struct{ reports []string }

func (*reporter) Helper() {}
func (r *reporter) Errorf(format string, args ...any) {
	r.reports = append(r.reports, fmt.Sprintf(format, args...))
}

func TestRecorderChecks(t *testing.T) {
	one, two, three := state("1", "1"), state("2", "2"), state("3", "3")
	other := with(two, func(o object) { o.UID = "2" })
	resync := updated(two, two)
	resync.Resync = true
	falseResync := updated(one, two)
	falseResync.Resync = true
	wrongKey := added(one)
	wrongKey.Key.Name = "b"
	for _, row := range []struct {
		name  string
		told  []change
		fault string
	}{
		{"a life", []change{added(one), updated(one, two), resync, deleted(two, three), added(state("4", "4"))}, ""},
		{"a last state already told", []change{added(one), deleted(one, one)}, ""},
		{"Old decoded again", []change{added(one), updated(state("1", "1"), two)}, ""},
		{"two Adds", []change{added(one), added(two)}, "change 1: ns/a: Add of version 2, but 1 is held"},
		{"Update first", []change{updated(one, two)}, "change 0: ns/a: Update of what is not held"},
		{"Delete first", []change{deleted(one, two)}, "change 0: ns/a: Delete of what is not held"},
		{"Delete twice", []change{added(one), deleted(one, two), deleted(one, two)}, "change 2: ns/a: Delete of what is not held"},
		{"another Old", []change{added(one), updated(two, three)}, "change 1: ns/a: Old of Update is version 2, told last was 1"},
		{"another Old of one version", []change{added(one), updated(state("x", "1"), three)}, "change 1: ns/a: Old of Update is version 1, told last was 1"},
		{"another Old of a Delete", []change{added(one), deleted(two, two)}, "change 1: ns/a: Old of Delete is version 2, told last was 1"},
		{"back in time", []change{added(two), updated(two, one)}, "change 1: ns/a: Update of version 1 after 2"},
		{"back in time after a Delete", []change{added(one), deleted(one, three), added(two)}, "change 2: ns/a: Add of version 2 after 3"},
		{"another identity", []change{added(one), updated(one, other)}, "change 1: ns/a: Update of identity 1 to 2"},
		{"an Update of nothing", []change{added(one), updated(one, state("1", "1"))}, "change 1: ns/a: Update from version 1 to 1 with Resync false"},
		{"a Resync with news", []change{added(one), falseResync}, "change 1: ns/a: Update from version 1 to 2 with Resync true"},
		{"another key", []change{wrongKey}, "change 0: ns/b: Object is ns/a"},
		{"an unknown type", []change{{Key: key("a"), Object: one}}, "change 0: ns/a: unknown type ChangeType(0)"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var rec fakes.Recorder[object]
			for _, c := range row.told {
				rec.Handle(t.Context(), c)
			}
			require.Equal(t, row.told, rec.Changes())
			var r reporter
			rec.Check(&r)
			if row.fault == "" {
				require.NoError(t, rec.Err())
				require.Empty(t, r.reports)
				return
			}
			require.EqualError(t, rec.Err(), row.fault)
			require.Equal(t, []string{"the handler was told what it must not be:\n" + row.fault}, r.reports)
		})
	}
}

func TestRecorderKeeps(t *testing.T) {
	var rec fakes.Recorder[object]
	require.Empty(t, rec.Held())
	require.Empty(t, rec.Changes())
	require.NoError(t, rec.Err())
	one, two := state("1", "1"), state("2", "2")
	rec.Handle(t.Context(), added(two))
	require.Equal(t, map[listwatch.Key]object{key("a"): two}, rec.Held())
	rec.Restored()
	rec.Handle(t.Context(), updated(two, one))
	require.NoError(t, rec.Err(), "versions may go back after a restore")
	rec.Forget()
	require.Empty(t, rec.Changes())
	rec.Handle(t.Context(), deleted(one, two))
	require.Empty(t, rec.Held())
	require.Len(t, rec.Changes(), 1)
	require.NoError(t, rec.Err())
	for range 100 {
		rec.Handle(t.Context(), deleted(one, two))
	}
	faults, ok := rec.Err().(interface{ Unwrap() []error })
	require.True(t, ok)
	require.Len(t, faults.Unwrap(), 20, "a flood of faults is cut")
}

// A restored server may have an older object of another identity under a key: the end of the one
// from before the restore is not what versions count from.
func TestRecorderTakesAnOlderIdentityAfterARestore(t *testing.T) {
	var rec fakes.Recorder[object]
	one, two, three := state("1", "1"), state("2", "2"), state("3", "3")
	rec.Handle(t.Context(), added(three))
	rec.Restored()
	rec.Handle(t.Context(), deleted(three, three))
	rec.Handle(t.Context(), added(two))
	require.NoError(t, rec.Err())
	rec.Handle(t.Context(), deleted(two, two))
	rec.Handle(t.Context(), added(one))
	require.EqualError(t, rec.Err(), "change 4: ns/a: Add of version 1 after 2")
}

func TestRecorderWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rec fakes.Recorder[object]
		var group worker.Group
		var two, gone, never error
		ctx, cancel := context.WithCancelCause(t.Context())
		own := errors.New("own")
		group.Go(func() { two = rec.Wait(ctx, 2) })
		group.Go(func() {
			gone = rec.WaitFor(ctx, func(changes []change) bool {
				return len(changes) > 0 && len(rec.Held()) == 0 // it may look at the recorder
			})
		})
		group.Go(func() { never = rec.Wait(ctx, 9) })
		synctest.Wait()
		one := state("1", "1")
		rec.Handle(ctx, added(one))
		synctest.Wait()
		rec.Handle(ctx, deleted(one, one))
		synctest.Wait()
		cancel(own)
		group.Wait()
		require.NoError(t, two)
		require.NoError(t, gone)
		require.ErrorIs(t, never, own)
		require.EqualError(t, never, "waiting for changes, 2 noted: own")
		require.NoError(t, rec.Wait(ctx, 2), "what is there needs no wait")
	})
}

func TestRecorderHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rec fakes.Recorder[object]
		var group worker.Group
		returned := make(chan string, 3)
		call := func(name string, ctx context.Context) {
			group.Go(func() {
				rec.Handle(ctx, added(obj(name, "1")))
				returned <- name
			})
			synctest.Wait()
		}
		ctx, cancel := context.WithCancel(t.Context())
		old := rec.Hold()
		call("a", ctx)
		require.NoError(t, rec.Err())
		require.NoError(t, rec.Wait(ctx, 1), "noted, although it hangs")
		release := rec.Hold()
		call("b", t.Context())
		require.EqualError(t, rec.Err(), "change 1: ns/b: the call began while another one was running")
		require.Empty(t, returned)
		cancel()
		require.Equal(t, "a", <-returned)
		old()
		synctest.Wait()
		require.Empty(t, returned)
		release()
		release()
		require.Equal(t, "b", <-returned)
		call("c", t.Context())
		require.Equal(t, "c", <-returned)
		group.Wait()
	})
}
