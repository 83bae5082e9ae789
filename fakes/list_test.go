package fakes_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/stretchr/testify/require"
)

const (
	latest   = listwatch.MatchLatest
	notOlder = listwatch.MatchNotOlder
	exact    = listwatch.MatchExact
)

// TestListMatch is the table of versions that a server answers with.
func TestListMatch(t *testing.T) {
	s := newSource(options{})
	put(t, s, obj("a", "1"), obj("b", "1"), obj("c", "1"), obj("a", "2")) // versions 2 to 5
	remove(t, s, "b")                                                     // 6
	put(t, s, obj("d", "1"))                                              // 7
	require.NoError(t, s.Compact("3"))
	all := []string{"a=2@5", "c=1@4", "d=1@7"}
	for _, row := range []struct {
		o       listwatch.ListOptions
		want    []string
		version string
		rest    int64
		err     string
		kind    error
	}{
		{o: listwatch.ListOptions{}, want: all, version: "7"},
		{o: listwatch.ListOptions{ResourceVersion: "bad"}, want: all, version: "7"},
		{o: listwatch.ListOptions{Limit: 2}, want: all[:2], version: "7", rest: 1},
		{o: listwatch.ListOptions{Limit: 3}, want: all, version: "7"},
		{o: listwatch.ListOptions{Limit: -1}, want: all, version: "7"},
		{o: listwatch.ListOptions{Match: notOlder, ResourceVersion: "0"}, want: all, version: "7"},
		{o: listwatch.ListOptions{Match: notOlder, ResourceVersion: "0", Limit: 1}, want: all, version: "7"},
		{o: listwatch.ListOptions{Match: notOlder, ResourceVersion: "2"}, want: all, version: "7"},
		{o: listwatch.ListOptions{Match: notOlder, ResourceVersion: "7", Limit: 1}, want: all[:1], version: "7", rest: 2},
		{o: listwatch.ListOptions{Match: exact, ResourceVersion: "3"}, want: []string{"a=1@2", "b=1@3"}, version: "3"},
		{o: listwatch.ListOptions{Match: exact, ResourceVersion: "5", Limit: 1}, want: []string{"a=2@5"}, version: "5", rest: 2},
		{o: listwatch.ListOptions{Match: exact, ResourceVersion: "6"}, want: []string{"a=2@5", "c=1@4"}, version: "6"},
		{o: listwatch.ListOptions{Match: exact, ResourceVersion: "2"}, err: "status 410 Expired: too old resource version: 2 (3)", kind: listwatch.ErrExpired},
		{o: listwatch.ListOptions{Match: exact, ResourceVersion: "8"}, err: "status 504 Timeout: Timeout: Too large resource version: 8, current: 7 (retry after 1s)", kind: listwatch.ErrTooLargeVersion},
		{o: listwatch.ListOptions{Match: notOlder, ResourceVersion: "8"}, err: "status 504 Timeout: Timeout: Too large resource version: 8, current: 7 (retry after 1s)", kind: listwatch.ErrTooLargeVersion},
		{o: listwatch.ListOptions{Match: exact, ResourceVersion: "0"}, err: "status 422 Invalid: resourceVersionMatch Exact is forbidden for resourceVersion 0", kind: listwatch.ErrUnsupported},
		{o: listwatch.ListOptions{Match: exact}, err: "status 422 Invalid: resourceVersionMatch is forbidden unless resourceVersion is provided", kind: listwatch.ErrUnsupported},
		{o: listwatch.ListOptions{Match: notOlder}, err: "status 422 Invalid: resourceVersionMatch is forbidden unless resourceVersion is provided", kind: listwatch.ErrUnsupported},
		{o: listwatch.ListOptions{Match: 9, ResourceVersion: "7"}, err: "status 422 Invalid: unknown resourceVersionMatch", kind: listwatch.ErrUnsupported},
		{o: listwatch.ListOptions{Match: notOlder, ResourceVersion: "-1"}, err: `status 400 BadRequest: invalid resource version: "-1"`, kind: listwatch.ErrUnsupported},
		{o: listwatch.ListOptions{Continue: "!"}, err: "status 400 BadRequest: invalid continue token", kind: listwatch.ErrUnsupported},
		{o: listwatch.ListOptions{Continue: token("7")}, err: "status 400 BadRequest: invalid continue token", kind: listwatch.ErrUnsupported},
		{o: listwatch.ListOptions{Continue: token("x\x001\x00false\x00\x00a")}, err: "status 400 BadRequest: invalid continue token", kind: listwatch.ErrUnsupported},
		{o: listwatch.ListOptions{Continue: token("7\x001\x00false\x00ns\x00b")}, want: all[1:], version: "7"},
	} {
		t.Run(fmt.Sprintf("%d_%s_%d_%s", row.o.Match, row.o.ResourceVersion, row.o.Limit, row.o.Continue), func(t *testing.T) {
			got, meta, err := list(t, s, row.o)
			if row.err != "" {
				require.EqualError(t, err, row.err)
				require.ErrorIs(t, err, row.kind)
				require.Zero(t, meta)
				return
			}
			require.NoError(t, err)
			require.Equal(t, row.want, got)
			require.Equal(t, row.version, meta.ResourceVersion)
			require.Equal(t, row.rest, meta.Remaining)
			require.Equal(t, row.rest > 0, meta.Continue != "")
		})
	}
}

func token(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }

// Scenario 100.
func TestEmptyCollection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource(options{})
		got, meta, err := list(t, s, listwatch.ListOptions{})
		require.NoError(t, err)
		require.Empty(t, got)
		require.Equal(t, "1", meta.ResourceVersion)
		require.ErrorIs(t, s.Restore("0"), listwatch.ErrExpired)
		empty := watch(t, s, from(meta.ResourceVersion))
		put(t, s, obj("a", "1"))
		listed, nowhere, zero := watch(t, s, from(s.Version())), watch(t, s, from("")), watch(t, s, from("0"))
		synctest.Wait()
		require.Equal(t, []string{"Added a=1@2 at 2"}, empty.told())
		require.Empty(t, listed.told())
		require.Equal(t, []string{"Added a=1@2 at ", "Synced at 2"}, nowhere.told())
		require.Equal(t, nowhere.told(), zero.told())
	})
}

// TestListPages pages through every older state with every limit while writes go on.
func TestListPages(t *testing.T) {
	s := newSource(options{})
	states := map[string][]string{}
	note := func() {
		got, meta, err := list(t, s, listwatch.ListOptions{})
		require.NoError(t, err)
		states[meta.ResourceVersion] = got
	}
	note()
	for i := range 12 {
		put(t, s, obj(fmt.Sprintf("o%d", i*5%12), fmt.Sprint(i)))
		if i%4 == 3 {
			remove(t, s, fmt.Sprintf("o%d", i*5%12))
		}
		note()
	}
	for version, want := range states {
		for limit := int64(1); limit < 14; limit++ {
			o := listwatch.ListOptions{Match: exact, ResourceVersion: version, Limit: limit}
			var got []string
			for {
				page, meta, err := list(t, s, o)
				require.NoError(t, err)
				require.Equal(t, version, meta.ResourceVersion)
				require.LessOrEqual(t, int64(len(page)), limit)
				got = append(got, page...)
				require.Equal(t, int64(len(want)-len(got)), meta.Remaining)
				if o.Continue = meta.Continue; o.Continue == "" {
					break
				}
			}
			require.Equal(t, want, got)
		}
		put(t, s, obj("later", version))
	}
	require.NoError(t, s.Compact(s.Version()))
	_, meta, err := list(t, s, listwatch.ListOptions{Limit: 1})
	require.NoError(t, err)
	put(t, s, obj("o99", "1"))
	require.NoError(t, s.Compact(s.Version()))
	_, _, err = list(t, s, listwatch.ListOptions{Continue: meta.Continue})
	require.ErrorIs(t, err, listwatch.ErrExpired)
}

// TestListOrder: keys that share one path or differ in a byte around the slash.
func TestListOrder(t *testing.T) {
	s := newSource(options{})
	for _, k := range []listwatch.Key{
		{Namespace: "ord", Name: "a"}, {Namespace: "ord-b", Name: "a"}, {Namespace: "ord", Name: "b/c"},
		{Namespace: "ord/b", Name: "c"}, {Name: "ord"}, {Namespace: "ord", Name: "a\xff"},
	} {
		put(t, s, &fakes.Object{Meta: listwatch.Meta{Namespace: k.Namespace, Name: k.Name}})
	}
	want := []listwatch.Key{
		{Name: "ord"}, {Namespace: "ord-b", Name: "a"}, {Namespace: "ord", Name: "a"}, {Namespace: "ord", Name: "a\xff"},
		{Namespace: "ord", Name: "b/c"}, {Namespace: "ord/b", Name: "c"},
	}
	var got []listwatch.Key
	o := listwatch.ListOptions{Limit: 1}
	for {
		meta, err := s.List(t.Context(), o, func(objects ...object) error {
			got = append(got, listwatch.KeyOf(objects[0]))
			return nil
		})
		require.NoError(t, err)
		if o.Continue = meta.Continue; o.Continue == "" {
			break
		}
	}
	require.Equal(t, want, got)
}

func TestListSelected(t *testing.T) {
	s := newSource(options{Select: func(o object) bool { return o.Value != "no" }})
	put(t, s, obj("a", "1"), obj("b", "no"), obj("c", "2"), obj("d", "no"))
	got, meta, err := list(t, s, listwatch.ListOptions{Limit: 2})
	require.NoError(t, err)
	require.Equal(t, []string{"a=1@2", "c=2@4"}, got)
	require.Zero(t, meta.Remaining, "not known with a selector")
	got, meta, err = list(t, s, listwatch.ListOptions{Limit: 2, Continue: meta.Continue})
	require.NoError(t, err)
	require.Empty(t, got, "the last page may be empty")
	require.Empty(t, meta.Continue)
	got, _, err = list(t, s.Select(func(o object) bool { return o.Value == "2" }), listwatch.ListOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"c=2@4"}, got, "both selectors hold")
	require.Len(t, s.Objects(), 4)
}

func TestListBatches(t *testing.T) {
	s := newSource(options{})
	for i := range 600 {
		put(t, s, obj(fmt.Sprintf("o%03d", i), "1"))
	}
	var sizes []int
	var lent [][]object
	known := func(h listwatch.Head) bool { return h.Key.Name < "o100" && h.UID != "" && h.ResourceVersion != "" }
	_, err := s.List(t.Context(), listwatch.ListOptions{Known: known}, func(objects ...object) error {
		sizes, lent = append(sizes, len(objects)), append(lent, objects)
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, []int{256, 244}, sizes)
	require.Nil(t, lent[1][0], "the slice is only lent, and who keeps it finds out")

	everything := func(listwatch.Head) bool { return true }
	meta, err := s.List(t.Context(), listwatch.ListOptions{Known: everything}, nil)
	require.NoError(t, err, "nothing needed, each never called")
	require.Equal(t, "601", meta.ResourceVersion)

	ctx, cancel := context.WithCancelCause(t.Context())
	own := errors.New("own")
	sizes = nil
	_, err = s.List(ctx, listwatch.ListOptions{}, func(objects ...object) error {
		sizes = append(sizes, len(objects))
		cancel(own)
		return nil
	})
	require.ErrorIs(t, err, own)
	require.Equal(t, []int{256}, sizes)
	_, err = s.List(ctx, listwatch.ListOptions{}, nil)
	require.ErrorIs(t, err, own)

	ctx, cancel = context.WithCancelCause(t.Context())
	_, err = s.List(ctx, listwatch.ListOptions{Known: func(listwatch.Head) bool { cancel(own); return true }}, nil)
	require.ErrorIs(t, err, own)
}

// Scenario 115, the server's part: a list waits for a version, then says that it is too large.
func TestListFreshWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource(options{FreshWait: 3 * time.Second})
		begin := time.Now()
		_, _, err := list(t, s, listwatch.ListOptions{Match: notOlder, ResourceVersion: "2"})
		require.ErrorIs(t, err, listwatch.ErrTooLargeVersion)
		var status *listwatch.StatusError
		require.ErrorAs(t, err, &status)
		require.Equal(t, time.Second, status.RetryAfter)
		require.Equal(t, 3*time.Second, time.Since(begin))

		time.AfterFunc(time.Second, func() { _, _ = s.Put(obj("a", "1")) })
		time.AfterFunc(2*time.Second, func() { s.Advance(5) })
		begin = time.Now()
		got, meta, err := list(t, s, listwatch.ListOptions{Match: notOlder, ResourceVersion: "5"})
		require.NoError(t, err)
		require.Equal(t, []string{"a=1@2"}, got)
		require.Equal(t, "7", meta.ResourceVersion)
		require.Equal(t, 2*time.Second, time.Since(begin))

		own := errors.New("own")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(own) })
		_, err = s.List(ctx, listwatch.ListOptions{Match: exact, ResourceVersion: "50"}, nil)
		require.ErrorIs(t, err, own)
		require.Equal(t, 3*time.Second, time.Since(begin))
	})
}

func TestFailLists(t *testing.T) {
	s := newSource(options{})
	put(t, s, obj("a", "1"))
	s.Fail(fakes.VerbList, fakes.Status(503, "down"), nil)
	s.Fail(fakes.VerbList, fakes.Status(403, "no"))
	for _, want := range []error{listwatch.ErrUnavailable, nil, listwatch.ErrForbidden, nil} {
		_, _, err := list(t, s, listwatch.ListOptions{})
		require.ErrorIs(t, err, want)
	}
}

// TestLag is about a replica that has not seen everything.
func TestLag(t *testing.T) {
	s := newSource(options{})
	put(t, s, obj("a", "1"), obj("b", "1"), obj("a", "2"))
	require.NoError(t, s.Lag("2"))
	old := []string{"a=1@2"}
	got, meta, err := list(t, s, listwatch.ListOptions{Match: notOlder, ResourceVersion: "0"})
	require.NoError(t, err)
	require.Equal(t, old, got)
	require.Equal(t, "2", meta.ResourceVersion)
	got, _, err = list(t, s, listwatch.ListOptions{Match: notOlder, ResourceVersion: "2"})
	require.NoError(t, err)
	require.Equal(t, old, got)
	_, _, err = list(t, s, listwatch.ListOptions{Match: notOlder, ResourceVersion: "3"})
	require.ErrorIs(t, err, listwatch.ErrTooLargeVersion)
	require.ErrorContains(t, err, "Too large resource version: 3, current: 2")
	for _, o := range []listwatch.ListOptions{{}, {Match: exact, ResourceVersion: "4"}} {
		got, _, err = list(t, s, o)
		require.NoError(t, err)
		require.Equal(t, []string{"a=2@4", "b=1@3"}, got)
	}
	require.ErrorIs(t, s.Lag("9"), listwatch.ErrTooLargeVersion)
	require.ErrorContains(t, s.Lag("x"), "invalid resource version")
	require.NoError(t, s.Lag(""))
	got, _, err = list(t, s, listwatch.ListOptions{Match: notOlder, ResourceVersion: "3", Limit: 1})
	require.NoError(t, err)
	require.Equal(t, []string{"a=2@4"}, got)
	require.NoError(t, s.Lag("3"))
	require.NoError(t, s.Restore("2"))
	_, meta, err = list(t, s, listwatch.ListOptions{Match: notOlder, ResourceVersion: "0"})
	require.NoError(t, err)
	require.Equal(t, "2", meta.ResourceVersion, "a replica is not ahead of the store")
	s.Advance(2)
	require.NoError(t, s.Compact("4"))
	require.ErrorIs(t, s.Lag("3"), listwatch.ErrExpired)
}
