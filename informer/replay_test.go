package informer_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/informer"
)

// A list may show a state that is newer than its version, as one of several namespaces does. The
// watch from that version then brings older states of the object: they are neither stored nor told.
func TestReplayOfWhatIsListedIsNotTold(t *testing.T) {
	bubble(t, func(t *testing.T) {
		at := func(name string, version int) *object {
			o := named(name, fmt.Sprint(version))
			o.ResourceVersion = o.Value
			return o
		}
		source := listwatch.Funcs[*object]{
			ListFunc: func(_ context.Context, _ listwatch.ListOptions, each func(...*object) error) (listwatch.ListMeta, error) {
				return listwatch.ListMeta{ResourceVersion: "30"}, each(at("a", 40))
			},
			WatchFunc: func(ctx context.Context, _ listwatch.WatchOptions, each func(...listwatch.Event[*object]) error) error {
				for _, o := range []*object{at("a", 35), at("a", 40), at("b", 50)} {
					if err := each(listwatch.Event[*object]{Type: listwatch.Modified, Object: o, ResourceVersion: o.ResourceVersion}); err != nil {
						return err
					}
				}
				<-ctx.Done()
				return ctx.Err()
			},
		}
		i := informer.New(source, quiet(informer.Options{}))
		ctx, cancel := context.WithCancel(t.Context())
		var d diary
		_, err := i.AddHandler(ctx, d.handle, informer.HandlerOptions{})
		require.NoError(t, err)
		ended := make(chan error)
		go func() { ended <- i.Run(ctx) }()
		synctest.Wait()
		require.Equal(t, []string{"Add a 40 initial", "Add b 50"}, d.read())
		require.EqualValues(t, 2, i.Stats().Skipped)
		cancel()
		require.NoError(t, <-ended)
	})
}
