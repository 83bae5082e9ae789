package fakes_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/internal/worker"
	"github.com/stretchr/testify/require"
)

// BenchmarkWatch writes one object again and again for a number of watches to read; all have
// read everything after each round, so that none falls out of the history.
func BenchmarkWatch(b *testing.B) {
	const round = 1000
	for _, watches := range []int{1, 100} {
		b.Run(fmt.Sprintf("watches=%d", watches), func(b *testing.B) {
			s := newSource(options{})
			ctx, cancel := context.WithCancel(b.Context())
			var readers worker.Group
			var unread sync.WaitGroup
			for range watches {
				readers.Go(func() {
					_ = s.Watch(ctx, from("1"), func(events ...event) error {
						unread.Add(-len(events))
						return nil
					})
				})
			}
			b.ReportAllocs()
			written := 0
			for b.Loop() {
				if written%round == 0 {
					unread.Wait()
				}
				unread.Add(watches)
				_, err := s.Put(obj("a", strconv.Itoa(written)))
				require.NoError(b, err)
				written++
			}
			unread.Wait()
			b.ReportMetric(float64(written*watches)/b.Elapsed().Seconds(), "events/s")
			cancel()
			readers.Wait()
		})
	}
}

// BenchmarkList lists 10,000 objects: with their bodies, and with all of them known.
func BenchmarkList(b *testing.B) {
	const objects = 10_000
	s := newSource(options{History: 2 * objects})
	for i := range objects {
		_, err := s.Put(obj(strconv.Itoa(i), "1"))
		require.NoError(b, err)
	}
	for name, o := range map[string]listwatch.ListOptions{
		"bodies": {},
		"known":  {Known: func(listwatch.Head) bool { return true }},
		"exact":  {Match: listwatch.MatchExact, ResourceVersion: "9000"},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			lists := 0
			for b.Loop() {
				_, err := s.List(b.Context(), o, func(...object) error { return nil })
				require.NoError(b, err)
				lists++
			}
			b.ReportMetric(float64(lists*objects)/b.Elapsed().Seconds(), "objects/s")
		})
	}
}

// BenchmarkWrite creates, updates and deletes without a reader.
func BenchmarkWrite(b *testing.B) {
	s := newSource(options{})
	writes := 0
	b.ReportAllocs()
	for b.Loop() {
		name := strconv.Itoa(writes % 1000)
		o, err := s.Create(obj(name, "1"))
		require.NoError(b, err)
		o.Value = "2"
		_, err = s.Update(o)
		require.NoError(b, err)
		_, err = s.Delete(key(name), fakes.Preconditions{UID: o.UID})
		require.NoError(b, err)
		writes += 3
	}
	b.ReportMetric(float64(writes)/b.Elapsed().Seconds(), "writes/s")
}
