package informer

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzMailbox: whatever happens to a key and whenever the handler reads, what it is told leads from
// what it holds to what the store holds.
func FuzzMailbox(f *testing.F) {
	f.Add([]byte("auudaArsudr"), true)
	f.Add([]byte("audaudrrsAdr"), false)
	f.Fuzz(func(t *testing.T, data []byte, withUID bool) {
		const all = "aAudsr"
		steps := ""
		for _, b := range data[:min(len(data), 100)] {
			op := rune(all[int(b)%len(all)])
			if legal(steps, op) {
				steps += string(op)
			}
		}
		require.NoError(t, play(steps, withUID), "steps %q with identity %v", steps, withUID)
	})
}
