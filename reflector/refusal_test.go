package reflector_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/reflector"
)

// refusals is a source whose answers a test makes one by one. Object "a" alone is refused.
type refusals struct {
	t      *testing.T
	r      *reflector.Reflector[*row]
	events chan func(o listwatch.WatchOptions, each watched) error

	mu   sync.Mutex
	list answerer // guarded by mu
}

// answerer makes the answers of lists.
type answerer func(o listwatch.ListOptions, each listed) (listwatch.ListMeta, error)

func (s *refusals) lists(a answerer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = a
}

// one lists "a" in one version, as of another.
func (s *refusals) one(a, version string) {
	s.lists(func(_ listwatch.ListOptions, each listed) (listwatch.ListMeta, error) {
		return listwatch.ListMeta{ResourceVersion: version}, each(newRow("a", a))
	})
}

// newRefusals returns it with a reflector that has listed version 10 and watches.
func newRefusals(t *testing.T) *refusals {
	s := &refusals{t: t, events: make(chan func(listwatch.WatchOptions, watched) error)}
	s.list = func(listwatch.ListOptions, listed) (listwatch.ListMeta, error) {
		return listwatch.ListMeta{ResourceVersion: "10"}, nil
	}
	source := rows{
		ListFunc: func(_ context.Context, o listwatch.ListOptions, each listed) (listwatch.ListMeta, error) {
			s.mu.Lock()
			list := s.list
			s.mu.Unlock()
			return list(o, each)
		},
		WatchFunc: func(ctx context.Context, o listwatch.WatchOptions, each watched) error {
			for {
				select {
				case event := <-s.events:
					if err := event(o, each); err != nil {
						return err
					}
				case <-ctx.Done():
					return ctx.Err()
				}
			}
		},
	}
	s.r = reflector.New[*row](source, newSink(newJournal()), options())
	t.Cleanup(start(t, s.r))
	return s
}

// refuse has the watch refuse "a" at a version, and deliver events of other versions after that.
func (s *refusals) refuse(version string, then ...listwatch.Event[*row]) {
	s.events <- func(o listwatch.WatchOptions, each watched) error {
		require.NoError(s.t, o.Refused(listwatch.Head{Key: listwatch.Key{Name: "a"}, ResourceVersion: version}, listwatch.ErrDecode))
		if len(then) == 0 {
			return nil
		}
		return each(then...)
	}
	synctest.Wait()
}

func (s *refusals) deliver(then ...listwatch.Event[*row]) {
	s.events <- func(_ listwatch.WatchOptions, each watched) error { return each(then...) }
	synctest.Wait()
}

// named tells the version of the refusal that Health names; "none" if it names none.
func (s *refusals) named() string {
	h := s.r.Health()
	if len(h.Refused) == 0 {
		return "none"
	}
	require.Len(s.t, h.Refused, 1)
	require.Equal(s.t, listwatch.Key{Name: "a"}, h.Refused[0].Key)
	return h.Refused[0].ResourceVersion
}

func modified(name, version string) listwatch.Event[*row] {
	return listwatch.Event[*row]{Type: listwatch.Modified, Object: newRow(name, version), ResourceVersion: version}
}

func TestRefusalStandsWhateverCameBeforeIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newRefusals(t)
		s.refuse("13", modified("a", "11"), modified("b", "12"))
		require.Equal(t, "13", s.named(), "the source refused it before it delivered the read's earlier events")
		s.deliver(modified("a", "14"))
		require.Equal(t, "none", s.named())
	})
}

// Of a refusal without version nobody knows what it came before: a comparing list decides.
func TestRefusalWithoutVersionStandsUntilItsGapIsMended(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newRefusals(t)
		s.refuse("", modified("a", "11"))
		require.Equal(t, "", s.named())
		s.one("12", "12")
		advance(time.Minute)
		require.NotZero(t, s.r.Health().Compares)
		require.Equal(t, "", s.named(), "the position has not passed the gap for sure")
		require.True(t, s.r.Health().Gap)
		s.deliver(modified("b", "12"))
		advance(time.Minute)
		require.Equal(t, "none", s.named())
		require.False(t, s.r.Health().Gap)
	})
}

func TestRefusalStandsAfterAListThatIsOlder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newRefusals(t)
		s.one("11", "12")
		s.refuse("13")
		advance(time.Minute)
		require.NotZero(t, s.r.Health().Compares)
		require.Equal(t, "13", s.named())
		s.one("11", "13")
		s.deliver(modified("b", "13"))
		advance(time.Minute)
		require.Equal(t, "none", s.named())
	})
}

func TestRefusalStandsAfterAListThatFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newRefusals(t)
		s.lists(func(_ listwatch.ListOptions, each listed) (listwatch.ListMeta, error) {
			return listwatch.ListMeta{}, errors.Join(listwatch.ErrUnavailable, each(newRow("a", "13")))
		})
		s.refuse("13", modified("b", "14"))
		advance(2 * time.Second)
		require.NotZero(t, s.r.Health().Compares)
		require.Equal(t, "13", s.named(), "nothing of the list has been taken")
		s.one("13", "14")
		advance(2 * time.Minute)
		require.Equal(t, "none", s.named())
	})
}

// A watch that begins anew refuses the same event again.
func TestRefusalComesBackWithTheEvent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newRefusals(t)
		s.refuse("")
		s.one("9", "10")
		s.events <- func(listwatch.WatchOptions, watched) error { return listwatch.ErrExpired }
		advance(time.Minute)
		require.Equal(t, uint64(2), s.r.Health().Lists)
		require.Equal(t, "none", s.named())
		s.refuse("")
		require.Equal(t, "", s.named())
		require.Equal(t, uint64(1), s.r.Health().Gaps, "and is one gap")
	})
}

// Versions of before a restore say nothing about those after it.
func TestRefusalEndsWithTheEpoch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newRefusals(t)
		s.refuse("100")
		s.lists(func(o listwatch.ListOptions, each listed) (listwatch.ListMeta, error) {
			if o.Match == listwatch.MatchNotOlder {
				return listwatch.ListMeta{}, listwatch.ErrTooLargeVersion
			}
			return listwatch.ListMeta{ResourceVersion: "5"}, each(newRow("a", "5"))
		})
		advance(2 * time.Minute)
		require.NotZero(t, s.r.Health().Restores)
		require.Equal(t, "none", s.named())
	})
}
