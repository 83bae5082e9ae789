//go:build linux

package process

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed3bce33ad/listwatch/examples/runtime"
	"github.com/seed3bce33ad/listwatch/examples/runtime/internal/addresses"
	"github.com/seed3bce33ad/listwatch/examples/runtime/internal/feed"
	"github.com/seed3bce33ad/listwatch/examples/runtime/process/internal/bridge"
	"github.com/seed3bce33ad/listwatch/examples/runtime/process/internal/cgroup"
)

// Options say where a runtime keeps what, and what it gives to pods.
type Options struct {
	// Dir is where the state of sandboxes and containers is. A later Runtime with the same directory finds them. Must be
	// set.
	Dir string
	// CIDR is where pods get their addresses from when they have networks of their own. Defaults to 10.244.0.0/24.
	CIDR netip.Prefix
	// LoopbackCIDR is where they get them from when they do not: a part of 127.0.0.0/8. Defaults to 127.244.0.0/24.
	LoopbackCIDR netip.Prefix
	// ImageDir is where images are that are named by a relative path. Defaults to none.
	ImageDir string
	// Plain leaves out all that needs root, as if this process were not allowed to do it.
	Plain bool
}

func (o Options) withDefaults() Options {
	if !o.CIDR.IsValid() {
		o.CIDR = netip.MustParsePrefix("10.244.0.0/24")
	}
	if !o.LoopbackCIDR.IsValid() {
		o.LoopbackCIDR = netip.MustParsePrefix("127.244.0.0/24")
	}
	return o
}

// Runtime runs containers as processes. It is a runtime.Service and a runtime.Images.
type Runtime struct {
	o       Options
	rights  rights
	bridge  *bridge.Bridge // nil without networks of pods
	cgroups cgroup.Group
	lock    *os.File
	feed    feed.Feed
	wg      sync.WaitGroup // a goroutine for each sandbox that is ready
	closing chan struct{}

	mu         sync.Mutex
	closed     bool                  // guarded by mu, as are those below and the fields of sandboxes and containers
	sandboxes  map[string]*sandbox   // by id
	containers map[string]*container // by id
	images     map[string]bool       // pulled by path
	pool       *addresses.Pool
}

// New returns a runtime with the sandboxes and containers that it finds in its directory. Only one at a time may use
// that. Close ends it. The program must call Reexec before anything else.
func New(o Options) (*Runtime, error) {
	o = o.withDefaults()
	if o.Dir == "" {
		return nil, errors.New("process: Options.Dir is not set")
	}
	dir, err := filepath.Abs(o.Dir)
	if err == nil {
		err = os.MkdirAll(filepath.Join(dir, sandboxesDir), 0o755)
	}
	if err != nil {
		return nil, fmt.Errorf("process: %w", err)
	}
	o.Dir = dir
	r := &Runtime{o: o, closing: make(chan struct{}), sandboxes: map[string]*sandbox{},
		containers: map[string]*container{}, images: map[string]bool{}}
	if r.lock, err = lock(filepath.Join(dir, "lock")); err != nil {
		return nil, fmt.Errorf("process: %w", err)
	}
	if err := errors.Join(r.prepare(), r.load()); err != nil {
		return nil, errors.Join(fmt.Errorf("process: %w", err), r.Close())
	}
	return r, nil
}

// prepare finds out what is allowed and makes what all sandboxes share.
func (r *Runtime) prepare() error {
	if err := linkCommands(filepath.Join(r.o.Dir, commandsDir)); err != nil {
		return err
	}
	var err error
	if r.rights, err = r.probe(); err != nil {
		return err
	}
	if r.rights.cgroups.Dirs != nil {
		if r.cgroups, err = r.rights.cgroups.Inner(r.name(), runtime.Limits{}); err != nil {
			r.rights.lacks("cgroups", err)
			r.cgroups = cgroup.Group{}
		}
	}
	if r.rights.network {
		gateway := addresses.New(r.o.CIDR).Gateway()
		if r.bridge, err = bridge.Open(r.name(), r.o.CIDR, gateway); err != nil {
			r.rights.lacks("bridge", err)
			r.rights.network = false
		}
	}
	r.pool = addresses.New(r.CIDR())
	return nil
}

// name is that of what the runtime makes on its machine. It follows from its directory.
func (r *Runtime) name() string {
	sum := fnv.New32a()
	sum.Write([]byte(r.o.Dir))
	return "pods-" + hex.EncodeToString(sum.Sum(nil))
}

// CIDR returns the prefix that pods get their addresses from.
func (r *Runtime) CIDR() netip.Prefix {
	if r.rights.network {
		return r.o.CIDR
	}
	return r.o.LoopbackCIDR
}

// Networked tells whether pods have networks of their own. Without, they have addresses of the node's loopback.
func (r *Runtime) Networked() bool { return r.rights.network }

// Missing names what the kernel or the user's rights do not allow, each with the reason in brackets.
func (r *Runtime) Missing() []string { return slices.Clone(r.rights.missing) }

// Close lets go of the sandboxes and their containers, which go on, and waits for its goroutines. When there are none, it
// removes what the runtime has made on its machine outside of its directory.
func (r *Runtime) Close() error {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil
	}
	r.closed = true
	close(r.closing)
	empty := len(r.sandboxes) == 0
	for _, s := range r.sandboxes {
		if s.pause != nil {
			s.pause.Close()
		}
	}
	r.mu.Unlock()
	r.wg.Wait()
	var err error
	if empty {
		if r.bridge != nil {
			err = r.bridge.Close()
		}
		err = errors.Join(err, r.cgroups.Remove())
	}
	return errors.Join(err, r.lock.Close())
}

// ContainerEvents follows the events. See runtime.Streams.
func (r *Runtime) ContainerEvents(ctx context.Context, f func(runtime.Event)) error {
	return r.feed.Follow(ctx, f)
}

// lockTime is how long a runtime that was killed may still seem to hold its directory: what it was just starting has its
// files until it runs.
const lockTime = 500 * time.Millisecond

// lock opens a file that no other process has open so.
func lock(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(lockTime); ; {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return file, nil
		}
		if err != unix.EWOULDBLOCK || time.Now().After(deadline) {
			file.Close()
			return nil, fmt.Errorf("%s: another runtime uses the directory: %w", path, err)
		}
		time.Sleep(lockTime / 50)
	}
}

// newID returns an id that nobody has had.
func newID() string {
	var bytes [10]byte
	_, _ = rand.Read(bytes[:]) // never fails
	return hex.EncodeToString(bytes[:])
}

// save replaces a file by a value in JSON, so that it is there as a whole or not at all.
func save(path string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

func read(path string, value any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, value)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
