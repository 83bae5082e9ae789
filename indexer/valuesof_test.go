package indexer_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/indexer"
)

type valued struct {
	listwatch.Meta
	values []float64
}

// An object's values can be asked for before it is stored, and asking stores nothing.
func TestValuesOfAnObjectThatIsNotStored(t *testing.T) {
	t.Parallel()
	var heard []error
	x := newStore[*valued](indexer.Options{Name: "things", OnError: func(err error) { heard = append(heard, err) }})
	boom := errors.New("boom")
	index, err := indexer.AddIndex(x.Reader(), "values", func(o *valued) []float64 {
		if o.Name == "bad" {
			panic(boom)
		}
		return o.values
	})
	require.NoError(t, err)
	own := []float64{1, math.NaN(), 2}
	require.Equal(t, []float64{1, 2}, index.ValuesOf(&valued{Meta: listwatch.Meta{Name: "a"}, values: own}))
	require.Len(t, own, 3)
	require.Equal(t, 2.0, own[2], "the function's slice is not written to")
	require.Equal(t, []string{"ns"}, x.Reader().Namespaces().ValuesOf(&valued{Meta: listwatch.Meta{Namespace: "ns", Name: "a"}}))
	require.Empty(t, heard)
	require.Nil(t, index.ValuesOf(&valued{Meta: listwatch.Meta{Namespace: "ns", Name: "bad"}}))
	require.Len(t, heard, 1)
	var fault *indexer.Fault
	require.ErrorAs(t, heard[0], &fault)
	require.ErrorIs(t, fault, boom)
	require.Equal(t, "indexer things: index values: object ns/bad: panic: boom", fault.Error())
	require.Contains(t, string(fault.Stack), "TestValuesOfAnObjectThatIsNotStored")
	require.Zero(t, x.Reader().Len())
	require.Equal(t, []indexer.IndexStats{{Name: "values", Faults: 1}}, x.Reader().Stats().Indexes)
}

func ExampleIndex_ValuesOf() {
	x := newStore[*valued](indexer.Options{})
	index, _ := indexer.AddIndex(x.Reader(), "values", func(o *valued) []float64 { return o.values })
	fmt.Println(index.ValuesOf(&valued{values: []float64{1, 2}}), x.Reader().Len())
	// Output: [1 2] 0
}
