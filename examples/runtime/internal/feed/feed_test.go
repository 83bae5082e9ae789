package feed

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed3bce33ad/listwatch/examples/runtime"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestFollow(t *testing.T) {
	var f Feed
	f.Publish(runtime.Event{Container: "before"})
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	var seen []string
	err := f.Follow(ctx, func(e runtime.Event) {
		seen = append(seen, e.Container)
		switch e.Container {
		case "":
			for range 3 {
				f.Publish(runtime.Event{Container: "a"})
				f.Publish(runtime.Event{Container: "b"})
			}
		case "b":
			f.Publish(runtime.Event{Container: "a"}) // what was told is told again when it happens again
			f.Publish(runtime.Event{Container: "c"})
		case "c":
			cancel(stop)
			f.Publish(runtime.Event{Container: "late"})
		}
	})
	require.ErrorIs(t, err, stop)
	require.Equal(t, []string{"", "a", "b", "a", "c"}, seen)
	require.Empty(t, f.followers)
}
