package fakes

import (
	"slices"
	"strings"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/internal/history"
)

// state is one state of one object. It is never changed once it is made, so it may be read
// without the lock; the object in it is never handed out, only copies of it are.
type state[T listwatch.Object] struct {
	key listwatch.Key
	// path is where the state sorts: a server lists by the key of its store.
	path   string
	stamp  Stamp
	object T
}

// change is one write; a hidden one is not shown by watches: that is silent loss.
type change[T listwatch.Object] = history.Change[listwatch.Key, state[T]]

// compare orders states as a server lists them.
func (s *state[T]) compare(path string, key listwatch.Key) int {
	if c := strings.Compare(s.path, path); c != 0 {
		return c
	}
	return s.key.Compare(key)
}

func sortStates[T listwatch.Object](states []*state[T]) {
	slices.SortFunc(states, func(a, b *state[T]) int { return a.compare(b.path, b.key) })
}
