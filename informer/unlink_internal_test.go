package informer

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
)

// Keys that fold away leave those before and behind them in the mailbox, in order.
func TestMailboxUnlinks(t *testing.T) {
	t.Parallel()
	for _, gone := range []string{"bc", "cb", "ab", "ba", "de", "ed", "acbd", "abcde", "edcba"} {
		box := mailbox[*item]{fold: true, same: sameUID}
		want := ""
		for n, name := range []string{"a", "b", "c", "d", "e"} {
			box.put(Change[*item]{Type: Add, Key: listwatch.Key{Name: name}, Object: newItem("u", n)}, uint64(n))
		}
		for _, name := range gone {
			box.put(Change[*item]{Type: Delete, Key: listwatch.Key{Name: string(name)}, Object: newItem("u", 9)}, 9)
		}
		for _, name := range "abcde" {
			if !strings.ContainsRune(gone, name) {
				want += string(name)
			}
		}
		got := ""
		for _, c := range box.take(nil, 10, 9) {
			got += c.Key.Name
		}
		require.Equal(t, want, got, "without %s", gone)
		require.Zero(t, box.len)
		require.Nil(t, box.last)
	}
}
