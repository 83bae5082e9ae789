package fakes_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/informer"
)

// Scenario 78.
func TestDetectorNamesTheChangedObject(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := fakes.New(fakes.StampObject, fakes.Options[*fakes.Object]{})
		var reports []error
		detector := fakes.DetectMutations[*fakes.Object](server, fakes.DetectorOptions{
			Report: func(err error) { reports = append(reports, err) },
		})
		pods := informer.New[*fakes.Object](detector, informer.Options{})
		guilty := func(_ context.Context, c informer.Change[*fakes.Object]) {
			if c.Object.Name == "victim" {
				c.Object.Labels = map[string]string{"who": "me"}
			}
		}
		_, err := pods.AddHandler(t.Context(), guilty, informer.HandlerOptions{})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(context.Background())
		run := make(chan error)
		go func() { run <- pods.Run(ctx) }()
		put := func(name string) {
			time.Sleep(time.Nanosecond) // another Value each time
			_, err := server.Put(&fakes.Object{Meta: listwatch.Meta{Name: name}, Value: time.Now().String()})
			require.NoError(t, err)
			synctest.Wait()
		}
		put("innocent")
		require.NoError(t, detector.Check())
		put("victim")
		held, ok := pods.Indexer().Get(listwatch.Key{Name: "victim"})
		require.True(t, ok)
		require.Equal(t, map[string]string{"who": "me"}, held.Labels, "everybody sees it")
		err = detector.Check()
		require.ErrorIs(t, err, fakes.ErrMutated)
		require.ErrorContains(t, err, "victim")
		require.ErrorContains(t, err, `+     "who": "me"`)
		require.Len(t, reports, 1)
		require.NoError(t, detector.Check(), "told once")

		put("victim")
		for n := range 3600 { // an hour of churn
			put(fmt.Sprint("other", n%10))
			time.Sleep(time.Second)
		}
		require.LessOrEqual(t, detector.Len(), 125, "bounded by the retention")
		require.Len(t, reports, 2, "found when its retention ended")
		cancel()
		require.NoError(t, <-run)
	})
}

// Without Report, a list or a watch panics, and Check does not.
func TestDetectorPanicsByDefault(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := fakes.New(fakes.StampObject, fakes.Options[*fakes.Object]{})
		_, err := server.Put(&fakes.Object{Meta: listwatch.Meta{Name: "a"}})
		require.NoError(t, err)
		broken := false
		o := fakes.DetectorOptions{Retention: time.Minute, Encode: func(v any) ([]byte, error) {
			if broken {
				return nil, errors.New("broken")
			}
			return []byte(v.(*fakes.Object).Value), nil
		}}
		detector := fakes.DetectMutations[*fakes.Object](server, o)
		list := func(value string) {
			_, err := detector.List(t.Context(), listwatch.ListOptions{}, func(objects ...*fakes.Object) error {
				objects[0].Value = value
				return nil
			})
			require.NoError(t, err)
		}
		list("changed")
		err = detector.Check()
		require.ErrorIs(t, err, fakes.ErrMutated)
		require.ErrorContains(t, err, "+ changed")
		require.NoError(t, detector.Check(), "told once")
		list("")
		broken = true
		require.EqualError(t, detector.Check(), "a shared object was changed: it cannot be encoded any more: broken")
		broken = false
		list("changed")
		time.Sleep(time.Minute)
		require.PanicsWithError(t, "a shared object was changed: a\n- \n+ changed\n", func() { list("") })
	})
}

func ExampleDetector() {
	server := fakes.New(fakes.StampObject, fakes.Options[*fakes.Object]{})
	_, _ = server.Put(&fakes.Object{Meta: listwatch.Meta{Name: "a"}, Value: "1"})
	detector := fakes.DetectMutations[*fakes.Object](server, fakes.DetectorOptions{})
	_, _ = detector.List(context.Background(), listwatch.ListOptions{}, func(objects ...*fakes.Object) error {
		objects[0].Value = "2" // forbidden
		return nil
	})
	fmt.Println(detector.Check())
	// Output:
	// a shared object was changed: a
	// -   "value": "1"
	// +   "value": "2"
}
