package indexer_test

import (
	"math/rand/v2"
	"testing"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/indexer"
)

// chosen is a source of chance that gives out bytes, and when there are none left, goes on by itself.
type chosen struct {
	bytes []byte
	rest  *rand.PCG
}

func (c *chosen) Uint64() uint64 {
	if len(c.bytes) == 0 {
		return c.rest.Uint64()
	}
	b := c.bytes[0]
	c.bytes = c.bytes[1:]
	return uint64(b) * 0x0101010101010101
}

// FuzzWrites: after any sequence of writes, and of indexes added and removed, the store and each
// index equal what a rebuild from nothing gives.
func FuzzWrites(f *testing.F) {
	f.Add([]byte("any text is a sequence of writes"))
	f.Add([]byte{0, 9, 1, 200, 3, 3, 4, 0, 255, 17, 60, 61, 62, 63, 128, 64, 32, 16, 8, 4, 2, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		c := &chosen{bytes: data, rest: rand.NewPCG(uint64(len(data)), 1)}
		w := &walk{
			t:       t,
			rnd:     rand.New(c),
			x:       newStore[*pod](indexer.Options{OnError: func(error) {}}),
			model:   map[listwatch.Key]*pod{},
			marks:   map[listwatch.Key]uint64{},
			indexes: map[string]*indexer.Index[*pod, string]{},
		}
		w.toggleIndex("first")
		for n := 0; len(c.bytes) > 0 && n < 200; n++ {
			w.step()
			w.check()
		}
	})
}
