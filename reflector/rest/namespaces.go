package rest

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/seed3bce33ad/listwatch"
)

// cursor is the continue token of a list over several namespaces. It holds all that the next
// page needs, so the source keeps nothing between pages.
type cursor struct {
	Index    int             `json:"i"` // of the namespace that comes next
	Token    string          `json:"t"` // the server's, inside of that namespace
	Versions []string        `json:"v"` // of the namespaces' lists so far
	Whole    string          `json:"w"` // the version that the pages before were given
	Match    listwatch.Match `json:"m"`
	Version  string          `json:"r"`
	Apart    bool            `json:"a,omitempty"` // the server does not give all at the first one's version
	Moves    uint64          `json:"n,omitempty"` // of the source when the list began; 0: beside a watch
}

func (c cursor) String() string {
	text, _ := json.Marshal(c)
	return base64.RawURLEncoding.EncodeToString(text)
}

// parseCursor reads the token in o, or begins at the first of n namespaces with so many moves.
func parseCursor(o listwatch.ListOptions, n int, moves uint64) (cursor, error) {
	if o.Continue == "" {
		return cursor{Match: o.Match, Version: o.ResourceVersion, Moves: moves}, nil
	}
	var c cursor
	text, err := base64.RawURLEncoding.DecodeString(o.Continue)
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	started := c.Index
	if c.Token != "" {
		started++
	}
	if err != nil || c.Index < 0 || c.Index >= n || len(c.Versions) != started {
		return cursor{}, fmt.Errorf("%w: a continue token that is not of this source", listwatch.ErrUnsupported)
	}
	return c, nil
}

// listAll lists one namespace after the other, all in the state of one version, that of the
// first: a comparing list would take for drift what was deleted between two requests. From a
// server that does not give that state the others are taken as they are, for a list must come
// about. The version of the whole is the oldest of theirs: a watch from it misses nothing in any
// of them. All pages bear the same.
func (s *Source[T]) listAll(ctx context.Context, o listwatch.ListOptions, each func(...T) error) (listwatch.ListMeta, error) {
	c, err := parseCursor(o, len(s.paths), s.moves())
	if err != nil {
		return listwatch.ListMeta{}, fmt.Errorf("list: %w", err)
	}
	for {
		more, err := s.listNext(ctx, o, &c, each)
		if err != nil {
			return listwatch.ListMeta{}, err
		}
		whole := oldest(c.Versions)
		if c.Whole != "" && c.Whole != whole {
			// A cache that is behind the one asked before: to go on would join two states.
			return listwatch.ListMeta{}, fmt.Errorf("list %s: %w: pages of two versions", s.paths[c.Index], listwatch.ErrExpired)
		}
		if !more {
			if c.Index++; c.Index == len(s.paths) {
				s.listed(whole, c)
				return listwatch.ListMeta{ResourceVersion: whole}, nil
			}
		}
		if more || o.Limit > 0 {
			c.Whole = whole
			return listwatch.ListMeta{ResourceVersion: whole, Continue: c.String()}, nil
		}
	}
}

// listNext lists one page of the namespace that c points at. more is true when another one of
// that namespace follows.
func (s *Source[T]) listNext(ctx context.Context, o listwatch.ListOptions, c *cursor, each func(...T) error) (more bool, err error) {
	path := s.paths[c.Index]
	answer, err := s.openNext(ctx, o, c)
	if err != nil {
		return false, err
	}
	meta, err := s.read(ctx, path, answer, o, each)
	switch {
	case err != nil:
		return false, err
	case c.Token == "":
		c.Versions = append(c.Versions, meta.ResourceVersion)
	case c.Versions[c.Index] != meta.ResourceVersion:
		return false, fmt.Errorf("list %s: %w: pages of two versions", path, listwatch.ErrExpired)
	}
	c.Token = meta.Continue
	return c.Token != "", nil
}

// openNext requests the page that c points at. What a server lacks it says before it answers, so
// that nothing has been handed on when the request is made in another way.
func (s *Source[T]) openNext(ctx context.Context, o listwatch.ListOptions, c *cursor) (io.ReadCloser, error) {
	path := s.paths[c.Index]
	o.Continue, o.Match, o.ResourceVersion = c.Token, c.Match, c.Version
	if c.Token != "" || c.Index == 0 || c.Match == listwatch.MatchExact {
		return s.open(ctx, path, o)
	}
	if first := c.Versions[0]; !c.Apart && first != "" && first != "0" {
		exact := o
		exact.Match, exact.ResourceVersion = listwatch.MatchExact, first
		answer, err := s.open(ctx, path, exact)
		// Whose pages have outlived their version can list everything at once.
		if !lacksState(err) || o.Limit > 0 && errors.Is(err, listwatch.ErrExpired) {
			return answer, err
		}
		c.Apart = true
	}
	if o.Match == listwatch.MatchNotOlder {
		o.ResourceVersion = c.Versions[0]
	}
	return s.open(ctx, path, o)
}

// lacksState reports whether a server said that it has not got the state of a version: any more,
// yet, or at all.
func lacksState(err error) bool {
	return errors.Is(err, listwatch.ErrExpired) || errors.Is(err, listwatch.ErrTooLargeVersion) || errors.Is(err, listwatch.ErrUnsupported)
}

// oldest returns the oldest of the versions, or "" when one is unknown. Of versions that
// can't be ordered it is the first.
func oldest(versions []string) string {
	least := versions[0]
	for _, version := range versions {
		if version == "" {
			return ""
		}
		if listwatch.Newer(least, version) {
			least = version
		}
	}
	return least
}

// resume is what a source of several namespaces remembers of the position that its consumer
// has. One version stands for all namespaces, the oldest of theirs; without the others' a
// watch from it would repeat what some of them have sent already, deleted objects among it.
type resume struct {
	listed, watched positions
	running         int    // watches
	shared          bool   // two watches ran at once: whose position a version is can't be told
	moves           uint64 // counts the beginnings of watches and what they have handed on
}

// positions are those of the namespaces while the whole was at version.
type positions struct {
	version string
	each    []string
}

// moves returns how often watches have moved, plus one; 0 while one runs.
func (s *Source[T]) moves() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.resume.running > 0 {
		return 0
	}
	return s.resume.moves + 1
}

// listed remembers the versions of a complete list. One that a watch has run beside is no list that
// anybody watches from: it compares, and the watch may have got further in the same version.
func (s *Source[T]) listed(whole string, c cursor) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.Moves != s.resume.moves+1 {
		return
	}
	versions := c.Versions
	if s.resume.listed.each != nil && whole == s.resume.listed.version {
		versions = olderOfEach(versions, s.resume.listed.each)
	}
	s.resume.listed = positions{version: whole, each: slices.Clone(versions)}
}

// begin returns the positions for a watch from version, and notes that it runs.
func (s *Source[T]) begin(version string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resume.running++
	s.resume.moves++
	s.resume.shared = s.resume.shared || s.resume.running > 1
	var from []string
	for _, p := range []positions{s.resume.listed, s.resume.watched} {
		switch {
		case version == "" || p.version != version || s.resume.shared:
		case from == nil:
			from = slices.Clone(p.each)
		default:
			from = olderOfEach(from, p.each)
		}
	}
	if from == nil {
		from = slices.Repeat([]string{version}, len(s.paths))
	}
	s.resume.listed = positions{}
	s.resume.watched = positions{version: version, each: slices.Clone(from)}
	return from
}

// watched remembers the positions of a watch whose consumer has got to version.
func (s *Source[T]) watched(version string, each []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resume.watched = positions{version: version, each: slices.Clone(each)}
	s.resume.moves++
}

// finish notes that a watch runs no longer.
func (s *Source[T]) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resume.running--
}

// olderOfEach returns the older one of each two.
func olderOfEach(a, b []string) []string {
	result := slices.Clone(a)
	for i := range result {
		result[i] = oldest([]string{a[i], b[i]})
	}
	return result
}
