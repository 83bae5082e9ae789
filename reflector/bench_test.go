package reflector_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/reflector"
)

// nowhere is a sink that takes everything and keeps nothing but, for Known, every state.
type nowhere struct{}

func (nowhere) Apply(context.Context, ...listwatch.Event[*row]) error { return nil }
func (nowhere) Lost(bool)                                             {}
func (nowhere) Begin(listwatch.Mode) listwatch.Snapshot[*row]         { return nowhere{} }
func (nowhere) Known(listwatch.Head) bool                             { return true }
func (nowhere) Put(context.Context, ...*row) error                    { return nil }
func (nowhere) Commit(string) error                                   { return nil }
func (nowhere) Abort()                                                {}

// BenchmarkWatch is the way of live events through the shell, with the making of their
// versions.
func BenchmarkWatch(b *testing.B) {
	for _, size := range []int{1, 64} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			ctx, cancel := context.WithCancel(b.Context())
			source := answer()
			source.WatchFunc = func(_ context.Context, _ listwatch.WatchOptions, each watched) error {
				defer cancel()
				version, events := 10, make([]listwatch.Event[*row], size)
				for i := range events {
					events[i] = listwatch.Event[*row]{Type: listwatch.Modified, Object: newRow(fmt.Sprint("r", i), "1")}
				}
				b.ReportAllocs()
				for b.Loop() {
					for i := range events {
						version++
						events[i].ResourceVersion = strconv.Itoa(version)
					}
					if err := each(events...); err != nil {
						return err
					}
				}
				b.ReportMetric(float64(size*b.N)/b.Elapsed().Seconds(), "events/s")
				return nil
			}
			require.NoError(b, reflector.New[*row](source, nowhere{}, options()).Run(ctx))
		})
	}
}

// BenchmarkKnown is a quiet relist: what an unchanged object costs beside the sink's answer.
func BenchmarkKnown(b *testing.B) {
	ctx, cancel := context.WithCancel(b.Context())
	source := answer()
	source.ListFunc = func(_ context.Context, o listwatch.ListOptions, _ listed) (listwatch.ListMeta, error) {
		defer cancel()
		head := listwatch.Head{Key: listwatch.Key{Name: "r"}, ResourceVersion: "5"}
		b.ReportAllocs()
		for b.Loop() {
			o.Known(head)
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "objects/s")
		return listwatch.ListMeta{ResourceVersion: "10"}, nil
	}
	require.NoError(b, reflector.New[*row](source, nowhere{}, options()).Run(ctx))
}
