package fakes

import (
	"encoding/base64"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/seed3bce33ad/listwatch"
)

// token says where a page begins: behind an object, in the state at a version.
type token struct {
	Version         uint64
	Namespace, Name string // no name: at the beginning
	// number tells older tokens from newer ones.
	number uint64
	// empty: the page before was left empty, so that this one is not.
	empty bool
}

// after returns the states behind the token.
func after[T listwatch.Object](t token, states []*state[T]) []*state[T] {
	if t.Name == "" {
		return states
	}
	last := listwatch.Key{Namespace: t.Namespace, Name: t.Name}
	path := last.String()
	at, found := slices.BinarySearchFunc(states, last, func(st *state[T], _ listwatch.Key) int {
		return st.compare(path, last)
	})
	if found {
		at++
	}
	return states[at:]
}

func (t token) String() string {
	text := strings.Join([]string{format(t.Version), format(t.number), strconv.FormatBool(t.empty), t.Namespace, t.Name}, "\x00")
	return base64.RawURLEncoding.EncodeToString([]byte(text))
}

func parseToken(s string) (token, error) {
	text, err := base64.RawURLEncoding.DecodeString(s)
	parts := strings.SplitN(string(text), "\x00", 5)
	if err != nil || len(parts) != 5 {
		return token{}, Status(400, "invalid continue token")
	}
	version, bad := strconv.ParseUint(parts[0], 10, 64)
	number, worse := strconv.ParseUint(parts[1], 10, 64)
	if errors.Join(bad, worse) != nil {
		return token{}, Status(400, "invalid continue token")
	}
	return token{Version: version, number: number, empty: parts[2] == "true", Namespace: parts[3], Name: parts[4]}, nil
}
