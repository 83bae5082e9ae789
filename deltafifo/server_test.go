package deltafifo_test

import (
	"fmt"
	"strconv"

	"github.com/seed3bce33ad/listwatch"
)

var names = []string{"a", "b", "c", "d", "e"}

// state is one state of a simulated object.
type state struct {
	version int
	uid     string
}

func (s state) pod(name string) *pod { return newPod(name, s.uid, strconv.Itoa(s.version)) }

// change is what happened at one version.
type change struct {
	name string
	kind listwatch.EventType
	state
}

// server is a collection with one version a change, and all of its history.
type server struct {
	uids     bool
	clock    int
	log      []change // log[i] happened at version i+1
	live     map[string]state
	born     int
	timeline int // grows with each restore
}

// write changes an object at random.
func (s *server) write(choose func(int) int) {
	name := names[choose(len(names))]
	old, exists := s.live[name]
	s.clock++
	c := change{name: name, kind: listwatch.Modified, state: state{version: s.clock, uid: old.uid}}
	switch {
	case !exists:
		c.kind = listwatch.Added
		if s.born++; s.uids {
			c.uid = fmt.Sprint("u", s.born)
		}
	case choose(5) < 2:
		c.kind = listwatch.Deleted
		c.version = old.version // the last state; the deletion's version is the event's
	}
	s.log = append(s.log, c)
	s.play(s.live, c)
}

func (s *server) play(live map[string]state, c change) {
	if c.kind == listwatch.Deleted {
		delete(live, c.name)
	} else {
		live[c.name] = c.state
	}
}

// ensure makes sure that the server has a version, which a list must have.
func (s *server) ensure(choose func(int) int) {
	if s.clock == 0 {
		s.write(choose)
	}
}

// at returns the collection as of a version.
func (s *server) at(version int) map[string]state {
	live := map[string]state{}
	for _, c := range s.log[:version] {
		s.play(live, c)
	}
	return live
}

func (s *server) list(version int) []*pod {
	pods := []*pod{}
	live := s.at(version)
	for _, name := range names {
		if st, ok := live[name]; ok {
			pods = append(pods, st.pod(name))
		}
	}
	return pods
}

func (s *server) event(version int) listwatch.Event[*pod] {
	c := s.log[version-1]
	return event(c.kind, c.pod(c.name), strconv.Itoa(version))
}

// restore takes the server back to an older version; from there on history is another.
func (s *server) restore(choose func(int) int) {
	s.clock = max(0, s.clock-choose(8))
	s.log = s.log[:s.clock]
	s.live = s.at(s.clock)
	s.timeline++
}
