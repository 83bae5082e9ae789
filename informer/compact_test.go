package informer_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/indexer"
	"github.com/seed3bce33ad/listwatch/informer"
)

// cramped is an informer of n objects, p0 and so on, that keeps one of them decoded, and what it has
// decoded so far.
func cramped(t *testing.T, n int) (*rig, *atomic.Int64) {
	decoded := new(atomic.Int64)
	compact := &indexer.Compact{Recent: 1, Lossless: true, Decode: func(data []byte, v any) error {
		decoded.Add(1)
		return json.Unmarshal(data, v)
	}}
	r := newRig(t, newServer(fakes.Options[*object]{}), informer.Options{Index: indexer.Options{Compact: compact}})
	for i := range n {
		r.put(fmt.Sprint("p", i), "1")
	}
	return r, decoded
}

// A late handler's objects are decoded when their turn has come; what changes before is folded into
// them, and Old is the very state that it was told.
func TestCompactTellsALateHandler(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r, decoded := cramped(t, 1000)
		r.start().sync()
		require.Zero(t, r.Indexer().Stats().Plain)
		var d diary
		first, block := true, make(chan struct{})
		before := decoded.Load()
		r.handle(func(ctx context.Context, c change) {
			if first {
				first = false
				<-block
			}
			d.handle(ctx, c)
		}, informer.HandlerOptions{Backlog: 1})
		synctest.Wait()
		require.Less(t, decoded.Load()-before, int64(1000/2), "those whose turn has not come")
		r.put("p900", "2")
		waits := r.Explain(key("p950")).Handlers[0]
		require.Equal(t, 1, waits.Waiting)
		require.Equal(t, informer.Add, waits.Changes[0].Type)
		held, _ := r.Indexer().Head(key("p950"))
		require.Equal(t, held, waits.Changes[0].Head)
		r.drop("p901")
		r.put("p902", "2")
		r.put("p902", "3")
		synctest.Wait()
		close(block)
		r.sync()
		var want []string
		for i := range 1000 {
			if i != 901 {
				want = append(want, fmt.Sprintf("Add p%d %d initial", i, map[int]int{900: 1, 902: 2}[i]+1))
			}
		}
		require.Empty(t, cmp.Diff(sorted(want), sorted(d.read())))
		r.put("p900", "3")
		r.drop("p3")
		synctest.Wait()
		require.Equal(t, []string{"Update p900 2>3", "Delete p3 1"}, d.read())
		require.Zero(t, r.Indexer().Stats().Plain)
	})
}

// A resync tells decoded objects, and what changes before they are told comes after.
func TestCompactResync(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r, _ := cramped(t, 200)
		var d diary
		var block atomic.Pointer[chan struct{}]
		r.handle(func(ctx context.Context, c change) {
			d.handle(ctx, c)
			if b := block.Swap(nil); b != nil {
				<-*b
			}
		}, informer.HandlerOptions{Resync: time.Hour, Backlog: 1})
		r.start().sync()
		d.read()
		wait := make(chan struct{})
		block.Store(&wait)
		time.Sleep(time.Hour)
		synctest.Wait()
		told := d.read()
		r.put("p199", "2")
		r.drop("p198")
		synctest.Wait()
		close(wait)
		r.sync()
		told = append(told, d.read()...)
		var want []string
		for i := range 198 {
			want = append(want, fmt.Sprintf("Update p%d 1>1 resync", i))
		}
		want = append(want, "Update p199 1>2", "Delete p198 1")
		require.Empty(t, cmp.Diff(sorted(want), sorted(told)))
	})
}
