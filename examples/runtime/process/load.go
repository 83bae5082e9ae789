//go:build linux

package process

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
)

// load finds the sandboxes and containers of an earlier runtime with the same directory.
func (r *Runtime) load() error {
	if r.pool == nil {
		return nil // preparing has failed
	}
	base := filepath.Join(r.o.Dir, sandboxesDir)
	entries, err := os.ReadDir(base)
	if err != nil {
		return err
	}
	for _, e := range entries {
		s := &sandbox{dir: filepath.Join(base, e.Name()), ended: make(chan struct{})}
		err := read(filepath.Join(s.dir, sandboxFile), &s.record)
		if errors.Is(err, fs.ErrNotExist) { // nothing else was made yet, or is there any more
			if err := os.RemoveAll(s.dir); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s.dir, err)
		}
		if err := r.loadContainers(s); err != nil {
			return err
		}
		r.sandboxes[s.Sandbox.ID] = s
	}
	all := slices.Collect(maps.Values(r.sandboxes))
	for _, s := range all { // from here on there are goroutines
		r.adopt(s)
	}
	return nil
}

// adopt connects with the pause process of a sandbox, or cleans up when there is none.
func (r *Runtime) adopt(s *sandbox) {
	if s.alive() && s.connect() == nil && s.keep() == nil {
		r.mu.Lock()
		if address, err := netip.ParseAddr(s.Sandbox.IP); err == nil {
			r.pool.Claim(address)
		}
		s.Sandbox.Ready = true
		r.mu.Unlock()
		r.refresh(s)
		r.wg.Go(func() { r.watch(s) })
		return
	}
	s.returned = true // its address may be another's by now
	r.end(s)
}

func (r *Runtime) loadContainers(s *sandbox) error {
	base := filepath.Join(s.dir, containersDir)
	entries, err := os.ReadDir(base)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // an earlier removal may have been broken off
		return err
	}
	for _, e := range entries {
		c := newContainer(filepath.Join(base, e.Name()))
		err := read(filepath.Join(c.dir, containerFile), &c.containerRecord)
		if errors.Is(err, fs.ErrNotExist) {
			if err := os.RemoveAll(c.dir); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", c.dir, err)
		}
		r.containers[c.ID] = c
	}
	return nil
}

// discard removes a directory, the record in it first: what is left when this process ends meanwhile is nobody's.
func discard(dir, record string) error {
	err := os.Remove(filepath.Join(dir, record))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, os.RemoveAll(dir))
}
