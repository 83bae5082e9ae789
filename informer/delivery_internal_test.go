package informer

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
)

// A resync that is at work when its handler leaves arms no further one behind its back.
func TestTimerOfAnEndedDeliveryIsStopped(t *testing.T) {
	for _, ended := range []bool{false, true} {
		d := &delivery[*listwatch.Meta]{ended: ended}
		stopped := false
		d.keepTimer(func() { stopped = true })
		require.Equal(t, ended, stopped)
		require.Equal(t, ended, d.stopTimer == nil)
	}
}
