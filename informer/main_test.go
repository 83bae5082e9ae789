package informer_test

import (
	"flag"
	"testing"

	"go.uber.org/goleak"

	"github.com/seed3bce33ad/listwatch/indexer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(both{m}) }

// both runs all tests over plain stores, and again over compact ones.
type both struct{ *testing.M }

func (b both) Run() int {
	code := b.M.Run()
	for _, once := range []string{"test.fuzz", "test.bench", "test.list"} {
		if flag.Lookup(once).Value.String() != "" {
			return code
		}
	}
	storage = &indexer.Compact{Recent: 1 << 14} // tests look at pointers
	return max(code, b.M.Run())
}

// storage is that of the informers that tests make.
var storage *indexer.Compact
