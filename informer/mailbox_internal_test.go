package informer

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
)

type item struct {
	listwatch.Meta
}

func newItem(uid string, version int) *item {
	return &item{listwatch.Meta{Name: "a", UID: uid, ResourceVersion: fmt.Sprint(version)}}
}

func sameUID(a, b *item) bool { return a.UID != "" && a.UID == b.UID }

// told is what a handler knows, and checks what it is told next.
type told struct {
	held *item
	adds int
}

func (h *told) take(c Change[*item]) error {
	switch c.Type {
	case Add:
		if h.held != nil {
			return fmt.Errorf("add of %v over %v", c.Object, h.held)
		}
		h.held = c.Object
		h.adds++
	case Update:
		if h.held == nil || c.Old != h.held {
			return fmt.Errorf("update from %v, held %v", c.Old, h.held)
		}
		if c.Resync && c.Object != c.Old {
			return fmt.Errorf("resync from %v to %v", c.Old, c.Object)
		}
		if !sameUID(c.Old, c.Object) && c.Old.UID != "" {
			return fmt.Errorf("update from identity %s to %s", c.Old.UID, c.Object.UID)
		}
		h.held = c.Object
	case Delete:
		if h.held == nil || c.Old != h.held {
			return fmt.Errorf("delete of %v, held %v", c.Old, h.held)
		}
		if h.held.UID != c.Object.UID {
			return fmt.Errorf("delete of %v over %v", c.Object, h.held)
		}
		h.held = nil
	}
	return nil
}

// TestMailboxFolds tries every sequence of changes and reads of one key up to a depth.
func TestMailboxFolds(t *testing.T) {
	t.Parallel()
	for _, withUID := range []bool{true, false} {
		sequences := 0
		var walk func(steps string, depth int)
		walk = func(steps string, depth int) {
			if depth > 0 {
				for _, op := range "aAudsr" {
					if legal(steps, op) {
						walk(steps+string(op), depth-1)
					}
				}
				return
			}
			sequences++
			require.NoError(t, play(steps, withUID), "steps %q with identity %v", steps, withUID)
		}
		walk("", 8)
		require.Greater(t, sequences, 10_000)
	}
}

// legal reports whether the store can do op after steps: a adds, A adds under the identity of
// before, u updates, d deletes, s resyncs, r lets the handler read.
func legal(steps string, op rune) bool {
	exists, before := false, false
	for _, s := range steps {
		switch s {
		case 'a', 'A':
			exists, before = true, true
		case 'd':
			exists = false
		}
	}
	switch op {
	case 'a':
		return !exists
	case 'A':
		return !exists && before
	case 'r':
		return true
	}
	return exists
}

func play(steps string, withUID bool) error {
	box := mailbox[*item]{fold: true, same: sameUID}
	var handler told
	var store *item
	version, life := 0, 0
	read := func() error {
		for _, c := range box.take(nil, 100, ^uint64(0)) {
			if err := handler.take(c); err != nil {
				return err
			}
		}
		return nil
	}
	uid := func() string {
		if withUID {
			return fmt.Sprint("u", life)
		}
		return ""
	}
	for n, op := range steps {
		version++
		switch op {
		case 'a', 'A':
			if op == 'a' {
				life++
			}
			store = newItem(uid(), version)
			box.put(Change[*item]{Type: Add, Object: store}, uint64(n))
		case 'u':
			old := store
			store = newItem(uid(), version)
			box.put(Change[*item]{Type: Update, Object: store, Old: old}, uint64(n))
		case 'd':
			gone := newItem(uid(), version)
			box.put(Change[*item]{Type: Delete, Object: gone, Old: store}, uint64(n))
			store = nil
		case 's':
			if !box.holds(listwatch.Key{}) {
				box.put(Change[*item]{Type: Update, Object: store, Old: store, Resync: true}, uint64(n))
			}
		case 'r':
			if err := read(); err != nil {
				return err
			}
		}
		if box.len > 1 {
			return fmt.Errorf("%d entries for one key", box.len)
		}
	}
	if err := read(); err != nil {
		return err
	}
	if handler.held != store {
		return fmt.Errorf("handler holds %v, store %v", handler.held, store)
	}
	if box.len != 0 || box.syncs != 0 || box.first != nil || box.last != nil || box.byKey != nil {
		return fmt.Errorf("left behind: %+v", box)
	}
	return nil
}

func TestMailboxTable(t *testing.T) {
	t.Parallel()
	o, n1, n2 := newItem("u", 1), newItem("u", 2), newItem("u", 3)
	gone, other := newItem("u", 4), newItem("w", 5)
	gone2 := newItem("w", 6)
	type changes = []Change[*item]
	add := Change[*item]{Type: Add, Object: n1, Initial: true}
	update := Change[*item]{Type: Update, Old: o, Object: n1}
	deleted := Change[*item]{Type: Delete, Old: o, Object: gone, Unknown: true}
	sync := Change[*item]{Type: Update, Old: o, Object: o, Resync: true}
	for _, row := range []struct {
		name      string
		put, want changes
	}{
		{"add then update keeps Initial", changes{add, {Type: Update, Old: n1, Object: n2}}, changes{{Type: Add, Object: n2, Initial: true}}},
		{"add then delete is nothing", changes{add, {Type: Delete, Old: n1, Object: gone}}, nil},
		{"add then resync", changes{add, {Type: Update, Old: n1, Object: n1, Resync: true}}, changes{add}},
		{"update then update", changes{update, {Type: Update, Old: n1, Object: n2}}, changes{{Type: Update, Old: o, Object: n2}}},
		{"update then delete", changes{update, {Type: Delete, Old: n1, Object: gone}}, changes{{Type: Delete, Old: o, Object: gone}}},
		{"resync then update", changes{sync, update}, changes{update}},
		{"resync then delete", changes{sync, deleted}, changes{deleted}},
		{"delete then add of the identity", changes{deleted, {Type: Add, Object: n2}}, changes{{Type: Update, Old: o, Object: n2}}},
		{"delete then add of another", changes{deleted, {Type: Add, Object: other}}, changes{deleted, {Type: Add, Object: other}}},
		{"delete then initial add of another", changes{deleted, {Type: Add, Object: other, Initial: true}}, changes{deleted, {Type: Add, Object: other, Initial: true}}},
		{"a second life unseen", changes{deleted, {Type: Add, Object: other}, {Type: Delete, Old: other, Object: gone2}}, changes{deleted}},
	} {
		t.Run(row.name, func(t *testing.T) {
			box := mailbox[*item]{fold: true, same: sameUID}
			for n, c := range row.put {
				box.put(c, uint64(n))
			}
			require.Equal(t, row.want, box.take(nil, 10, 10))
			require.Zero(t, box.syncs)
		})
	}
}

func TestMailboxKeepsOrderAndLimit(t *testing.T) {
	t.Parallel()
	box := mailbox[*item]{fold: true, same: sameUID}
	for n, name := range []string{"c", "a", "b", "a"} {
		c := Change[*item]{Type: Update, Key: listwatch.Key{Name: name}, Object: newItem("u", n)}
		box.put(c, uint64(n))
	}
	names := func(changes []Change[*item]) (out string) {
		for _, c := range changes {
			out += c.Key.Name
		}
		return out
	}
	require.True(t, box.pendingUpTo(0))
	require.Equal(t, "ca", names(box.take(nil, 10, 1)))
	require.False(t, box.pendingUpTo(1))
	require.Equal(t, "b", names(box.take(nil, 10, 9)))
}

func TestLogIsReadAtOwnPace(t *testing.T) {
	t.Parallel()
	l := log[*item]{end: &node[*item]{first: 1}}
	c := cursor[*item]{node: l.end}
	require.Empty(t, c.read(10, 100))
	l.append(make([]Change[*item], 3))
	l.append(make([]Change[*item], 2))
	require.EqualValues(t, 6, l.seq())
	require.Len(t, c.read(2, 100), 2)
	require.Len(t, c.read(math.MaxInt, math.MaxUint64), 1)
	require.Empty(t, c.read(10, 3))
	require.Len(t, c.read(10, 4), 1)
	require.EqualValues(t, 5, c.seq())
	require.Len(t, c.read(10, 100), 1)
	require.Empty(t, c.read(10, 100))
	require.Empty(t, l.end.changes, "an idle log keeps no change alive")
	require.Same(t, l.end, c.node)
}

func TestWaitersFireInOrder(t *testing.T) {
	t.Parallel()
	var w waiters
	for _, v := range []string{"10", "9", "x", "100", "9"} {
		w.wait(v)
	}
	versions := func(ws []waiter) (out []string) {
		for _, w := range ws {
			out = append(out, w.version)
		}
		return out
	}
	require.Equal(t, []string{"9", "10"}, versions(w.reached("11")))
	require.Same(t, w.wait("x"), w.wait("x"))
	require.Same(t, w.wait("100"), w.wait("0100"))
	require.NotSame(t, w.wait("100"), w.wait("x"))
	require.Equal(t, []string{"x"}, versions(w.reached("x")))
	require.Equal(t, []string{"100"}, versions(w.all()))
	require.Empty(t, w.all())
}
