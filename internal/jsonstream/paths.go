package jsonstream

import "strings"

// Paths are those of members that are to be left out: [Compact] leaves them out, and a decoder may
// find out by Below and Here. A nil Paths is none. It is not changed once built and may be shared.
type Paths struct {
	next map[string]*Paths
	here bool
	// lengths has a bit for each length of a key in next, modulo 64.
	lengths uint64
}

// NewPaths returns paths of keys joined by dots. Arrays on the way are passed through.
func NewPaths(paths []string) *Paths {
	if len(paths) == 0 {
		return nil
	}
	top := new(Paths)
	for _, path := range paths {
		p := top
		for key := range strings.SplitSeq(path, ".") {
			if p.next == nil {
				p.next = make(map[string]*Paths)
			}
			if p.next[key] == nil {
				p.next[key] = new(Paths)
				p.lengths |= 1 << (len(key) % 64)
			}
			p = p.next[key]
		}
		p.here = true
	}
	return top
}

// Below returns what the paths are from a member of that key on, or nil when none leads there.
func (p *Paths) Below(key string) *Paths {
	if p == nil || p.lengths>>(len(key)%64)&1 == 0 {
		return nil
	}
	return p.next[key]
}

// Here reports whether the value itself is left out.
func (p *Paths) Here() bool { return p != nil && p.here }
