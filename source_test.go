package listwatch_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
)

func widget(name, version string, size int) *Widget {
	return &Widget{Meta: listwatch.Meta{Name: name, ResourceVersion: version}, Size: size}
}

// shelf is a source of two widgets, one of which Known may take away.
var shelf = listwatch.Funcs[*Widget]{
	ListFunc: func(_ context.Context, o listwatch.ListOptions, each func(...*Widget) error) (listwatch.ListMeta, error) {
		err := each(widget("saw", "3", 1), widget("axe", "4", 2))
		return listwatch.ListMeta{ResourceVersion: "5"}, err
	},
	WatchFunc: func(ctx context.Context, o listwatch.WatchOptions, each func(...listwatch.Event[*Widget]) error) error {
		return each(
			listwatch.Event[*Widget]{Type: listwatch.Modified, Object: widget("saw", "6", 10), ResourceVersion: "6"},
			listwatch.Event[*Widget]{Type: listwatch.Bookmark, ResourceVersion: "7"},
			listwatch.Event[*Widget]{Type: listwatch.Deleted, Object: widget("axe", "8", 2), ResourceVersion: "8"},
		)
	},
}

// Scenario 107.
func TestFuncsCallTheirOwnFunction(t *testing.T) {
	t.Parallel()
	var calls []string
	f := listwatch.Funcs[*Widget]{
		ListFunc: func(context.Context, listwatch.ListOptions, func(...*Widget) error) (listwatch.ListMeta, error) {
			calls = append(calls, "list")
			return listwatch.ListMeta{ResourceVersion: "1"}, nil
		},
		WatchFunc: func(context.Context, listwatch.WatchOptions, func(...listwatch.Event[*Widget]) error) error {
			calls = append(calls, "watch")
			return nil
		},
	}
	meta, err := f.List(t.Context(), listwatch.ListOptions{}, nil)
	require.NoError(t, err)
	require.Equal(t, "1", meta.ResourceVersion)
	require.NoError(t, f.Watch(t.Context(), listwatch.WatchOptions{}, nil))
	require.ErrorIs(t, f.Watch(t.Context(), listwatch.WatchOptions{InitialEvents: true}, nil), listwatch.ErrUnsupported)
	f.InitialEvents = true
	require.NoError(t, f.Watch(t.Context(), listwatch.WatchOptions{InitialEvents: true}, nil))
	require.Equal(t, []string{"list", "watch", "watch"}, calls)

	var unset listwatch.Funcs[*Widget]
	_, err = unset.List(t.Context(), listwatch.ListOptions{}, nil)
	require.ErrorIs(t, err, listwatch.ErrUnsupported)
	require.ErrorIs(t, unset.Watch(t.Context(), listwatch.WatchOptions{}, nil), listwatch.ErrUnsupported)
	unset.ListFunc = f.ListFunc
	require.ErrorIs(t, unset.Watch(t.Context(), listwatch.WatchOptions{}, nil), listwatch.ErrUnsupported)
	unset = listwatch.Funcs[*Widget]{WatchFunc: f.WatchFunc}
	_, err = unset.List(t.Context(), listwatch.ListOptions{}, nil)
	require.ErrorIs(t, err, listwatch.ErrUnsupported)
}

func TestTransformSeesEachObjectOnce(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	source := listwatch.Transform(shelf, func(w *Widget) (*Widget, error) {
		seen[w.Name+"@"+w.ResourceVersion]++
		if w.Name == "axe" {
			return nil, errors.New("blunt")
		}
		w.Size *= 2
		return w, nil
	})
	var sizes []int
	var refused []listwatch.Head
	o := listwatch.ListOptions{Refused: func(h listwatch.Head, err error) error {
		require.ErrorContains(t, err, "transform of axe: blunt")
		refused = append(refused, h)
		return nil
	}}
	meta, err := source.List(t.Context(), o, func(ws ...*Widget) error {
		for _, w := range ws {
			sizes = append(sizes, w.Size)
		}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, "5", meta.ResourceVersion)

	var types []listwatch.EventType
	err = source.Watch(t.Context(), listwatch.WatchOptions{Refused: o.Refused}, func(events ...listwatch.Event[*Widget]) error {
		for _, e := range events {
			types = append(types, e.Type)
			if e.Type == listwatch.Modified {
				sizes = append(sizes, e.Object.Size)
			}
		}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, []int{2, 20}, sizes)
	require.Equal(t, []listwatch.EventType{listwatch.Modified, listwatch.Bookmark}, types)
	require.Equal(t, map[string]int{"saw@3": 1, "axe@4": 1, "saw@6": 1, "axe@8": 1}, seen)
	require.Equal(t, []listwatch.Head{
		{Key: listwatch.Key{Name: "axe"}, ResourceVersion: "4"}, {Key: listwatch.Key{Name: "axe"}, ResourceVersion: "8"},
	}, refused)
}

func TestTransformFaultsAreRefused(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]func(*Widget) (*Widget, error){
		"panics":          func(*Widget) (*Widget, error) { panic("oh") },
		"key or version":  func(w *Widget) (*Widget, error) { return widget("other", w.ResourceVersion, 0), nil },
		"or version":      func(w *Widget) (*Widget, error) { return widget(w.Name, "999", 0), nil },
		"no such thing":   func(*Widget) (*Widget, error) { return nil, errors.New("no such thing") },
		"panicked: again": func(*Widget) (*Widget, error) { panic("again") },
	} {
		t.Run(name, func(t *testing.T) {
			source := listwatch.Transform(shelf, f)
			_, err := source.List(t.Context(), listwatch.ListOptions{}, func(...*Widget) error { return nil })
			require.Error(t, err, "nobody to refuse it to")
			none := func(...*Widget) error { t.Error("called with nothing left"); return nil }
			o := listwatch.ListOptions{Refused: func(_ listwatch.Head, err error) error { return nil }}
			_, err = source.List(t.Context(), o, none)
			require.NoError(t, err)
			stop := errors.New("stop")
			err = source.Watch(t.Context(), listwatch.WatchOptions{Refused: func(listwatch.Head, error) error { return stop }}, nil)
			require.ErrorIs(t, err, stop)
		})
	}
}

func TestEventAndModeNames(t *testing.T) {
	t.Parallel()
	require.Equal(t, "[Added Modified Deleted Bookmark Synced EventType(9)]", fmt.Sprint([]any{
		listwatch.Added, listwatch.Modified, listwatch.Deleted, listwatch.Bookmark, listwatch.Synced, listwatch.EventType(9),
	}))
	require.Equal(t, "[MatchLatest MatchNotOlder MatchExact Match(9)]", fmt.Sprint([]any{
		listwatch.MatchLatest, listwatch.MatchNotOlder, listwatch.MatchExact, listwatch.Match(9),
	}))
	require.Equal(t, "[Rebuild Compare Reset Mode(9)]", fmt.Sprint([]any{
		listwatch.Rebuild, listwatch.Compare, listwatch.Reset, listwatch.Mode(9),
	}))
}

func TestStatusErrorIsItsClass(t *testing.T) {
	t.Parallel()
	var err error = fmt.Errorf("list: %w", &listwatch.StatusError{
		Code: 429, Reason: "TooManyRequests", Message: "slow down", RetryAfter: 2 * time.Second, Kind: listwatch.ErrTooManyRequests,
	})
	require.ErrorIs(t, err, listwatch.ErrTooManyRequests)
	require.NotErrorIs(t, err, listwatch.ErrExpired)
	var status *listwatch.StatusError
	require.ErrorAs(t, err, &status)
	require.Equal(t, 2*time.Second, status.RetryAfter)
	require.Equal(t, "status 429 TooManyRequests: slow down (retry after 2s)", status.Error())
	require.Equal(t, "ERROR event 500", (&listwatch.StatusError{Code: 500, Event: true}).Error())
}

func ExampleFuncs() {
	meta, err := shelf.List(context.Background(), listwatch.ListOptions{}, func(ws ...*Widget) error {
		for _, w := range ws {
			fmt.Println(w.Name, w.Size)
		}
		return nil
	})
	fmt.Println(meta.ResourceVersion, err)
	// Output:
	// saw 1
	// axe 2
	// 5 <nil>
}

func ExampleTransform() {
	slim := listwatch.Transform(shelf, func(w *Widget) (*Widget, error) {
		w.Size = 0
		return w, nil
	})
	_, _ = slim.List(context.Background(), listwatch.ListOptions{}, func(ws ...*Widget) error {
		fmt.Println(ws[0].Name, ws[0].Size)
		return nil
	})
	// Output: saw 0
}

func ExampleStatusError() {
	err := error(&listwatch.StatusError{Code: 410, Reason: "Expired", Event: true, Kind: listwatch.ErrExpired})
	fmt.Println(errors.Is(err, listwatch.ErrExpired), err)
	// Output: true ERROR event 410 Expired
}

func ExampleEvent() {
	gone := listwatch.Event[*Widget]{Type: listwatch.Deleted, Object: widget("saw", "6", 1), ResourceVersion: "9"}
	fmt.Println(gone.Type, gone.Object.Name, "at", gone.ResourceVersion)
	// Output: Deleted saw at 9
}
