package reflector_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/reflector"
)

// Scenario 41. While the first list is not complete a warning comes each 10 s.
func TestWarnsUntilSynced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text strings.Builder
		var mu sync.Mutex
		o := options()
		o.Logger = slog.New(slog.NewTextHandler(writer(func(p []byte) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			return text.Write(p)
		}), nil))
		source := answer()
		plain := source.ListFunc
		source.ListFunc = func(ctx context.Context, l listwatch.ListOptions, each listed) (listwatch.ListMeta, error) {
			advance(35 * time.Second)
			return plain(ctx, l, each)
		}
		r := reflector.New[*row](source, newSink(newJournal()), o)
		ctx, cancel := context.WithCancel(t.Context())
		wait, err := r.Start(ctx)
		require.NoError(t, err)
		advance(2 * time.Minute)
		cancel()
		wait()
		require.Equal(t, 3, strings.Count(text.String(), "the first list is not complete yet"))
		require.NotContains(t, text.String(), "level=ERROR")
	})
}

func TestHealthShowsTheWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events := make(chan listwatch.Event[*row])
		source := answer()
		source.WatchFunc = func(ctx context.Context, o listwatch.WatchOptions, each watched) error {
			if o.ResourceVersion == "10" {
				if err := o.Refused(listwatch.Head{Key: listwatch.Key{Name: "bad"}, ResourceVersion: "11"}, listwatch.ErrDecode); err != nil {
					return err
				}
			}
			for {
				select {
				case e := <-events:
					if err := each(e); err != nil {
						return err
					}
				case <-ctx.Done():
					return ctx.Err()
				}
			}
		}
		o := options()
		o.Relist = -1
		r := reflector.New[*row](source, newSink(newJournal()), o)
		began := time.Now()
		stop := start(t, r)
		h := r.Health()
		require.Equal(t, reflector.Watching, h.State)
		require.Equal(t, began, h.ConnectedSince)
		require.Equal(t, began, h.LastProgress)
		require.Zero(t, h.LastEvent)
		require.Equal(t, uint64(1), h.Gaps)
		require.Len(t, h.Refused, 1)
		require.Equal(t, listwatch.Key{Name: "bad"}, h.Refused[0].Key)
		require.Equal(t, "11", h.Refused[0].ResourceVersion)
		require.ErrorIs(t, h.Refused[0].Reason, listwatch.ErrDecode)
		advance(time.Minute)
		events <- listwatch.Event[*row]{Type: listwatch.Bookmark, ResourceVersion: "12"}
		synctest.Wait()
		require.Equal(t, began.Add(time.Minute), r.Health().LastProgress)
		require.Zero(t, r.Health().LastEvent)
		events <- listwatch.Event[*row]{Type: listwatch.Added, Object: newRow("bad", "13"), ResourceVersion: "13"}
		synctest.Wait()
		h = r.Health()
		require.Equal(t, began.Add(time.Minute), h.LastEvent)
		require.Equal(t, "13", h.Position)
		require.Empty(t, h.Refused, "the object was taken after all")
		stop()
		require.Zero(t, r.Health().ConnectedSince)
	})
}

// Refusals and gaps are bounded, whatever a server sends.
func TestRefusalsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := answer()
		source.ListFunc = func(_ context.Context, o listwatch.ListOptions, _ listed) (listwatch.ListMeta, error) {
			for i := range 1000 {
				if err := o.Refused(listwatch.Head{Key: listwatch.Key{Name: fmt.Sprint(i)}}, listwatch.ErrDecode); err != nil {
					return listwatch.ListMeta{}, err
				}
			}
			return listwatch.ListMeta{ResourceVersion: "10"}, nil
		}
		r := reflector.New[*row](source, newSink(newJournal()), options())
		stop := start(t, r)
		require.Len(t, r.Health().Refused, 100)
		stop()
	})
}

func TestNamesOfStates(t *testing.T) {
	var names []string
	for s := reflector.Idle; s <= reflector.Stopped+1; s++ {
		names = append(names, s.String())
	}
	require.Equal(t, []string{"Idle", "Listing", "Watching", "Waiting", "Stopped", "State(5)"}, names)
}

// Scenario 59. A panic of OnError is a failure like others.
func TestPanicOfOnErrorCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := answer()
		source.ListFunc = nil
		o := options()
		o.OnError = func(error) { panic(errors.New("oh")) }
		r := reflector.New[*row](source, newSink(newJournal()), o)
		stop := start(t, r)
		h := r.Health()
		require.Equal(t, 2, h.Failures)
		require.ErrorContains(t, h.LastError, "OnError panicked: oh")
		advance(time.Second)
		require.Equal(t, 4, r.Health().Failures, "the loop goes on")
		stop()
	})
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }
