package informer_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/informer"
)

// What happens while a handler is in a call is told after it, by the one goroutine that it has.
func TestCallsOfAHandlerNeverOverlap(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, newServer(fakes.Options[*object]{}), informer.Options{})
		var inside, calls atomic.Int32
		var overlaps []string
		slow := func(_ context.Context, c change) {
			if inside.Add(1) > 1 {
				overlaps = append(overlaps, c.Key.Name)
			}
			time.Sleep(time.Second)
			inside.Add(-1)
			calls.Add(1)
		}
		r.handle(slow, informer.HandlerOptions{})
		r.start().sync()
		for n := range 10 {
			r.put(fmt.Sprint(n%3), fmt.Sprint(n))
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Empty(t, overlaps)
		require.EqualValues(t, 10, calls.Load())
	})
}
