package listwatch_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
)

func TestSignalFiresOnce(t *testing.T) {
	t.Parallel()
	var s listwatch.Signal
	calls := 0
	stop := s.AfterFunc(func() { calls++ })
	stopped := s.AfterFunc(func() { calls += 100 })
	require.True(t, stopped())
	require.False(t, stopped(), "taken back before")
	require.False(t, s.Fired())
	done := s.Done()
	s.Fire()
	s.Fire()
	<-done
	<-s.Done()
	require.True(t, s.Fired())
	require.Equal(t, 1, calls)
	require.False(t, stop())
	require.False(t, s.AfterFunc(func() { calls++ })())
	require.Equal(t, 2, calls)
}

func TestSignalDoneAfterFire(t *testing.T) {
	t.Parallel()
	var s listwatch.Signal
	s.Fire()
	<-s.Done()
}

func TestSignalCallsEachFuncOnceUnderRace(t *testing.T) {
	t.Parallel()
	for range 200 {
		var s listwatch.Signal
		var calls, taken atomic.Int32
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if s.AfterFunc(func() { calls.Add(1) })() {
					taken.Add(1)
				}
			})
		}
		all.Go(s.Fire)
		all.Wait()
		require.EqualValues(t, 8, calls.Load()+taken.Load())
	}
}

func TestPanicOfOneFuncLeavesTheOthers(t *testing.T) {
	t.Parallel()
	var s listwatch.Signal
	calls := 0
	for range 10 {
		s.AfterFunc(func() {
			calls++
			panic("no")
		})
	}
	require.Panics(t, s.Fire)
	require.Equal(t, 10, calls)
	require.True(t, s.Fired())
}

func ExampleSignal() {
	var s listwatch.Signal
	s.AfterFunc(func() { fmt.Println("it happened") })
	s.Fire()
	<-s.Done()
	fmt.Println(s.Fired())
	// Output:
	// it happened
	// true
}
