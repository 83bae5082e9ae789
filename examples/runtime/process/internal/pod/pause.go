//go:build linux

package pod

import (
	"encoding/json"
	"fmt"
	"net"
	"net/rpc"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed3bce33ad/listwatch/examples/runtime/process/internal/bridge"
)

// Pause is the process that holds what the containers of a pod share. Its exported methods are called by the kubelet's
// side, by net/rpc.
type Pause struct {
	sandbox Sandbox
	wg      sync.WaitGroup

	mu         sync.Mutex
	kept       bool                  // guarded by mu, as are those below
	changes    uint64                // counts changes of containers
	changed    chan struct{}         // closed at the next change
	containers map[string]*container // by id
	children   map[int]*container    // those that were not waited for, by PID
}

// listenFile is the number of the file that the pause process listens at.
const listenFile = 3

// RunPause is the pause process: it ends when it is killed, or when who has started it goes away without Keep. Its
// argument is a Sandbox in JSON.
func RunPause(argument string) error {
	p := &Pause{changed: make(chan struct{}), containers: map[string]*container{}, children: map[int]*container{}}
	if err := json.Unmarshal([]byte(argument), &p.sandbox); err != nil {
		return err
	}
	if err := p.settle(); err != nil {
		return err
	}
	// Taken, not ignored: containers would inherit that.
	signal.Notify(make(chan os.Signal, 1), unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	file := os.NewFile(listenFile, "control")
	listener, err := net.FileListener(file)
	if err != nil {
		return err
	}
	file.Close()
	server := rpc.NewServer()
	if err := server.Register(p); err != nil {
		return err
	}
	p.wg.Go(p.reap)
	for {
		conn, err := listener.Accept()
		if err != nil {
			return err
		}
		p.wg.Go(func() {
			server.ServeConn(conn)
			p.mu.Lock()
			defer p.mu.Unlock()
			if !p.kept {
				os.Exit(1)
			}
		})
	}
}

// settle makes the namespaces the pod's own.
func (p *Pause) settle() error {
	if p.sandbox.UTS {
		if err := unix.Sethostname([]byte(p.sandbox.Hostname)); err != nil {
			return fmt.Errorf("set the host name: %w", err)
		}
	}
	if p.sandbox.Mount {
		// What the node mounts later is seen here, and nothing that is mounted here is seen there.
		if err := unix.Mount("", "/", "", unix.MS_SLAVE|unix.MS_REC, ""); err != nil {
			return fmt.Errorf("make mounts the pod's own: %w", err)
		}
	}
	if p.sandbox.PID {
		if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
			return fmt.Errorf("mount /proc: %w", err)
		}
		return nil
	}
	// Without a PID namespace, processes whose parent has died come here all the same.
	return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}

// Nothing is the argument or the answer of a call that needs none.
type Nothing struct{}

// Keep lets the process stay when who has started it goes away. The answer is the sandbox's id.
func (p *Pause) Keep(_ Nothing, id *string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kept = true
	*id = p.sandbox.ID
	return nil
}

// SetUp makes the pod's network usable.
func (p *Pause) SetUp(n Network, _ *Nothing) error {
	return bridge.SetUp(n.Link, n.Address, n.Prefix, n.Gateway)
}

// Wait returns the count of changes when it is not seen any more.
func (p *Pause) Wait(seen uint64, now *uint64) error {
	for {
		p.mu.Lock()
		count, changed := p.changes, p.changed
		p.mu.Unlock()
		if count != seen {
			*now = count
			return nil
		}
		<-changed
	}
}

// change tells those in Wait.
func (p *Pause) change() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changes++
	close(p.changed)
	p.changed = make(chan struct{})
}

// reap waits for every child, those that others have left behind too. Signals are sent and PIDs are looked up under the
// same lock, so that none is meant for a process that has its number from another.
func (p *Pause) reap() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGCHLD)
	for {
		for p.reapOne() {
		}
		<-signals
	}
}

func (p *Pause) reapOne() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	var status unix.WaitStatus
	pid, err := unix.Wait4(-1, &status, unix.WNOHANG, nil)
	if err == unix.EINTR {
		return true
	}
	if err != nil || pid == 0 {
		return false
	}
	if c := p.children[pid]; c != nil {
		delete(p.children, pid)
		c.status = status
		close(c.ended)
	}
	return true
}

// write replaces the state of a container in its directory.
func (s State) write(dir string) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, StateFile)
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// StateFile is the name of the file with the State of a container, in its directory.
const StateFile = "state.json"

// ReadState returns the state of the container with a directory, and the zero value when it was not started.
func ReadState(dir string) (s State, err error) {
	text, err := os.ReadFile(filepath.Join(dir, StateFile))
	if os.IsNotExist(err) {
		return State{}, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	return s, err
}

// Failed writes that a container could not be started.
func Failed(dir, why string, at time.Time) error {
	return State{PID: -1, Exited: true, ExitCode: StartFailed, Reason: "StartError", Message: why, Finished: at}.write(dir)
}

// Lost writes that a container has ended with its sandbox, unless it had ended before.
func Lost(dir string, at time.Time) error {
	s, err := ReadState(dir)
	if err != nil || s.PID == 0 || s.Exited {
		return err
	}
	s.Exited, s.ExitCode, s.Finished = true, SignalBase+int(syscall.SIGKILL), at
	s.Reason, s.Message = "Error", "the sandbox has ended"
	return s.write(dir)
}
