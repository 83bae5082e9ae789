package storage_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/etcd"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/storage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newStore(t *testing.T, o storage.Options) *storage.Store {
	t.Helper()
	server, err := etcd.Start(t.Context(), etcd.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	store, err := storage.New(server.Client(), o)
	require.NoError(t, err)
	return store
}

func create(t *testing.T, s *storage.Store, key, value string) storage.Entry {
	t.Helper()
	entry, err := s.Create(t.Context(), key, []byte(value))
	require.NoError(t, err)
	return entry
}

func put(t *testing.T, s *storage.Store, key, value string) storage.Entry {
	t.Helper()
	entry, err := s.GuaranteedUpdate(t.Context(), key, func(storage.Entry) (storage.Change, error) {
		return storage.Change{Value: []byte(value)}, nil
	})
	require.NoError(t, err)
	return entry
}

func keys(entries []storage.Entry) []string {
	var keys []string
	for _, e := range entries {
		keys = append(keys, e.Key)
	}
	return keys
}

func TestOptions(t *testing.T) {
	_, err := storage.New(nil, storage.Options{Root: "no", PageSize: -1})
	require.ErrorContains(t, err, `"no" must begin with a slash`)
	require.ErrorContains(t, err, "must not be negative")
}

func TestWrites(t *testing.T) {
	s := newStore(t, storage.Options{})
	_, err := s.Get(t.Context(), "/a/1")
	require.ErrorIs(t, err, storage.ErrNotFound)
	made := create(t, s, "/a/1", "one")
	got, err := s.Get(t.Context(), "/a/1")
	require.NoError(t, err)
	require.Equal(t, made, got)
	_, err = s.Create(t.Context(), "/a/1", []byte("two"))
	require.ErrorIs(t, err, storage.ErrExists)

	changed := put(t, s, "/a/1", "two")
	require.Equal(t, storage.Entry{Key: "/a/1", Value: []byte("two"), Revision: made.Revision + 1}, changed)

	refused := errors.New("refused")
	_, err = s.Delete(t.Context(), "/a/1", func(storage.Entry) error { return refused })
	require.ErrorIs(t, err, refused)
	gone, err := s.Delete(t.Context(), "/a/1", func(e storage.Entry) error {
		require.Equal(t, changed, e)
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, storage.Entry{Key: "/a/1", Value: []byte("two"), Revision: made.Revision + 2}, gone)
	_, err = s.Delete(t.Context(), "/a/1", nil)
	require.ErrorIs(t, err, storage.ErrNotFound)
}

// Scenario 117.
func TestUpdateNothing(t *testing.T) {
	s := newStore(t, storage.Options{})
	made := create(t, s, "/a/1", "one")
	require.Equal(t, made, put(t, s, "/a/1", "one"))
	now, err := s.Revision(t.Context())
	require.NoError(t, err)
	require.Equal(t, made.Revision, now)
}

func TestGuaranteedUpdateConcurrent(t *testing.T) {
	s := newStore(t, storage.Options{})
	create(t, s, "/n", "0")
	const writers, each = 4, 25
	var group sync.WaitGroup
	for range writers {
		group.Go(func() {
			for range each {
				_, err := s.GuaranteedUpdate(t.Context(), "/n", func(e storage.Entry) (storage.Change, error) {
					n, err := strconv.Atoi(string(e.Value))
					return storage.Change{Value: []byte(strconv.Itoa(n + 1))}, err
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	got, err := s.Get(t.Context(), "/n")
	require.NoError(t, err)
	require.Equal(t, strconv.Itoa(writers*each), string(got.Value))
}

func TestUpdateOfWhatWasDeletedMeanwhile(t *testing.T) {
	s := newStore(t, storage.Options{})
	create(t, s, "/n", "0")
	_, err := s.GuaranteedUpdate(t.Context(), "/n", func(storage.Entry) (storage.Change, error) {
		_, err := s.Delete(t.Context(), "/n", nil)
		return storage.Change{Value: []byte("1")}, err
	})
	require.ErrorIs(t, err, storage.ErrNotFound)
}

func TestListIsOfOneRevision(t *testing.T) {
	s := newStore(t, storage.Options{PageSize: 3})
	var last storage.Entry
	for _, k := range []string{"/p/ord/a", "/p/ord-b/a", "/p/x/1", "/p/x/2", "/p/x/3", "/p/x/4", "/px/1"} {
		last = create(t, s, k, k)
	}
	page, err := s.List(t.Context(), "/p/", storage.ListOptions{})
	require.NoError(t, err)
	// '-' sorts before '/': the order is that of the keys, not of (namespace, name).
	require.Equal(t, []string{"/p/ord-b/a", "/p/ord/a", "/p/x/1", "/p/x/2", "/p/x/3", "/p/x/4"}, keys(page.Entries))
	require.Equal(t, last.Revision, page.Revision)
	require.Zero(t, page.Remaining)

	first, err := s.List(t.Context(), "/p/", storage.ListOptions{Limit: 2})
	require.NoError(t, err)
	require.Equal(t, page.Entries[:2], first.Entries)
	require.Equal(t, int64(4), first.Remaining)
	create(t, s, "/p/x/0", "new")
	_, err = s.Delete(t.Context(), "/p/x/2", nil)
	require.NoError(t, err)
	rest, err := s.List(t.Context(), "/p/", storage.ListOptions{Revision: first.Revision, From: "ord/a\x00"})
	require.NoError(t, err)
	require.Equal(t, page.Entries[2:], rest.Entries)
	require.Equal(t, first.Revision, rest.Revision)

	require.NoError(t, s.Compact(t.Context(), first.Revision+1))
	require.NoError(t, s.Compact(t.Context(), first.Revision), "compacting again does nothing")
	_, err = s.List(t.Context(), "/p/", storage.ListOptions{Revision: first.Revision})
	require.ErrorIs(t, err, storage.ErrCompacted)
	_, err = s.List(t.Context(), "/p/", storage.ListOptions{Revision: 1 << 40})
	require.ErrorIs(t, err, storage.ErrFuture)
}

func TestOldest(t *testing.T) {
	s := newStore(t, storage.Options{})
	var last storage.Entry
	for i := range 20 {
		last = create(t, s, "/a/"+strconv.Itoa(i), "x")
	}
	for back, want := range map[int64]int64{5: last.Revision - 5, 1000: 1} {
		oldest, newest, err := s.Oldest(t.Context(), back)
		require.NoError(t, err)
		require.Equal(t, last.Revision, newest)
		require.Equal(t, want, oldest)
	}
	require.NoError(t, s.Compact(t.Context(), last.Revision-7))
	oldest, _, err := s.Oldest(t.Context(), 1000)
	require.NoError(t, err)
	require.Equal(t, last.Revision-7, oldest)
	done, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err = s.Oldest(done, 1000)
	require.ErrorIs(t, err, context.Canceled)
}

func TestToken(t *testing.T) {
	// The token that a recorded answer carries.
	const recorded = "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoiZW52LWFuZC1wcm9iZXNcdTAwMDAifQ"
	want := storage.Token{Revision: -1, From: "env-and-probes\x00"}
	got, err := storage.ParseToken(recorded)
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.Equal(t, recorded, want.Encode())
	for _, bad := range []string{"", "garbage", "e30", "!", storage.Token{Revision: 5}.Encode(), storage.Token{From: "a"}.Encode()} {
		_, err := storage.ParseToken(bad)
		require.ErrorIs(t, err, storage.ErrBadToken, bad)
	}
}

func TestWaitFor(t *testing.T) {
	s := newStore(t, storage.Options{})
	made := create(t, s, "/a", "1")
	require.NoError(t, s.WaitFor(t.Context(), made.Revision))

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	err := s.WaitFor(ctx, made.Revision+1)
	require.ErrorIs(t, err, storage.ErrFuture)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorIs(t, s.WaitFor(ctx, made.Revision), storage.ErrFuture, "it cannot even look")

	var waiting sync.WaitGroup
	waiting.Go(func() {
		if err := s.WaitFor(t.Context(), made.Revision+2); err != nil {
			t.Error(err)
		}
	})
	put(t, s, "/a", "2")
	put(t, s, "/a", "3")
	waiting.Wait()
}
