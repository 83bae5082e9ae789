package reflector_test

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/internal/measure"
	"github.com/seed3bce33ad/listwatch/reflector"
)

// oblivion is a sink that takes everything and keeps nothing.
type oblivion struct{}

func (oblivion) Apply(context.Context, ...listwatch.Event[*row]) error { return nil }
func (oblivion) Lost(bool)                                             {}
func (oblivion) Begin(listwatch.Mode) listwatch.Snapshot[*row]         { return oblivion{} }
func (oblivion) Known(listwatch.Head) bool                             { return true }
func (oblivion) Put(context.Context, ...*row) error                    { return nil }
func (oblivion) Commit(string) error                                   { return nil }
func (oblivion) Abort()                                                {}

// misery is a source whose calls fail in every way, each time with another key, another version
// and another error.
type misery struct {
	mu             sync.Mutex // guards both below
	calls, version int
}

func (m *misery) next() (n int, name, version string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls++
	if m.version++; m.calls == 1000 {
		m.version = 2 // the server is restored
	}
	err = []error{
		listwatch.ErrUnavailable, nil, listwatch.ErrTooManyRequests, nil, listwatch.ErrForbidden, io.ErrUnexpectedEOF, listwatch.ErrExpired,
		nil, listwatch.ErrTooLargeVersion, nil, listwatch.ErrProtocol,
	}[m.calls%11]
	if err != nil {
		err = fmt.Errorf("%s: %w", strings.Repeat(strconv.Itoa(m.calls), 100), err)
	}
	return m.calls, "row" + strconv.Itoa(m.calls), strconv.Itoa(m.version), err
}

// leap moves the versions far ahead.
func (m *misery) leap() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.version += 1000
	return strconv.Itoa(m.version)
}

func (m *misery) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.calls
}

func (m *misery) list(_ context.Context, o listwatch.ListOptions, each listed) (listwatch.ListMeta, error) {
	n, name, version, err := m.next()
	_ = o.Refused(listwatch.Head{Key: listwatch.Key{Name: name}, ResourceVersion: version}, listwatch.ErrTooLarge)
	if err := each(newRow(name+"'", version)); err != nil {
		return listwatch.ListMeta{}, err
	}
	if n%3 > 0 {
		err = nil
	}
	return listwatch.ListMeta{ResourceVersion: version}, err
}

func (m *misery) watch(ctx context.Context, o listwatch.WatchOptions, each watched) error {
	n, name, version, err := m.next()
	_ = o.Refused(listwatch.Head{Key: listwatch.Key{Name: name}, ResourceVersion: version}, listwatch.ErrDecode)
	for i := range n % 6 {
		event := []listwatch.Event[*row]{
			{Type: listwatch.Added, Object: newRow(name, version), ResourceVersion: version},
			{Type: listwatch.Modified, Object: newRow(name, "1"), ResourceVersion: "1"},
			{Type: listwatch.EventType(100 + n%100), Object: newRow(name, version)},
			{Type: listwatch.Added, Object: newRow("", version), ResourceVersion: version},
			{Type: listwatch.Bookmark, ResourceVersion: version},
		}[i]
		if i == 4 {
			event.ResourceVersion = m.leap()
		}
		if err := each(event); err != nil {
			return err
		}
	}
	if n%5 == 0 {
		<-ctx.Done() // the deadline
		return ctx.Err()
	}
	return err
}

// Everything fails, all the time. What is remembered of it has a number that does not grow: at most
// 100 refusals, 100 gaps, and the last error.
func TestBoundsOfFailures(t *testing.T) {
	for _, first := range []reflector.FirstList{reflector.FirstStream, reflector.FirstPages} {
		synctest.Test(t, func(t *testing.T) {
			m := &misery{version: 2}
			o := options()
			o.FirstList = first
			r := reflector.New(rows{ListFunc: m.list, WatchFunc: m.watch, InitialEvents: true}, reflector.Sink[*row](oblivion{}), o)
			stop := start(t, r)
			suffer := func(calls int) (bytes, goroutines int) {
				for end := m.count() + calls; m.count() < end; {
					time.Sleep(time.Hour)
				}
				synctest.Wait()
				return measure.Held(), runtime.NumGoroutine()
			}
			warm, before := suffer(2000)
			bytes, after := suffer(measure.Sized(2000, 200_000))
			h := r.Health()
			t.Logf("%d lists, %d watches, %d gaps, %d refused, %d bytes more", h.Lists, h.Watches, h.Gaps, len(h.Refused), bytes-warm)
			require.NotZero(t, h.Lists)
			require.NotZero(t, h.Watches)
			require.Greater(t, h.Gaps, uint64(500))
			require.NotZero(t, h.Compares)
			require.NotZero(t, h.Restores)
			require.LessOrEqual(t, len(h.Refused), reflector.MaxRefused)
			require.LessOrEqual(t, after, before+1, "a comparing list")
			// Two hundred entries of 200 bytes may come or go by chance.
			require.Less(t, bytes-warm, 100<<10)
			stop()
		})
	}
}
