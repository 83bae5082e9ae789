//go:build linux

package process

import (
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"net/rpc"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/seed3bce33ad/listwatch/examples/runtime/internal/addresses"
	"github.com/seed3bce33ad/listwatch/examples/runtime/process/internal/bridge"
	"github.com/seed3bce33ad/listwatch/examples/runtime/process/internal/pod"
)

// startPause starts the pause process of a sandbox and connects with it. It listens at a socket that is there before it
// is, so that nothing has to wait for that.
func (s *sandbox) startPause() error {
	argument, err := json.Marshal(s.Spec)
	if err != nil {
		return err
	}
	var socket *os.File
	err = s.inDir(func(dir string) error {
		listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, controlFile)})
		if err != nil {
			return err
		}
		listener.SetUnlinkOnClose(false)
		defer listener.Close()
		socket, err = listener.File()
		return err
	})
	if err != nil {
		return err
	}
	defer socket.Close()
	// Before it starts, so that it can't miss the end of this process.
	if err := s.connect(); err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(s.dir, pauseLogFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer null.Close()
	s.PID, err = syscall.ForkExec(pod.Self, []string{pod.PauseName, string(argument)}, &syscall.ProcAttr{
		Env:   []string{pod.SandboxMarker + "=" + s.Sandbox.ID},
		Files: []uintptr{null.Fd(), log.Fd(), log.Fd(), socket.Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true, Cloneflags: s.namespaces()},
	})
	if err != nil {
		return fmt.Errorf("start the pause process: %w", err)
	}
	s.Start = pod.StartTime(s.PID)
	return nil
}

func (s *sandbox) namespaces() uintptr {
	var flags uintptr
	for flag, have := range map[uintptr]bool{unix.CLONE_NEWNET: s.Network, unix.CLONE_NEWIPC: s.IPC,
		unix.CLONE_NEWUTS: s.Spec.UTS, unix.CLONE_NEWPID: s.Spec.PID, unix.CLONE_NEWNS: s.Spec.Mount} {
		if have {
			flags |= flag
		}
	}
	return flags
}

// connect connects with the pause process.
func (s *sandbox) connect() error {
	return s.inDir(func(dir string) error {
		conn, err := net.Dial("unix", filepath.Join(dir, controlFile))
		if err == nil {
			s.pause = rpc.NewClient(conn)
		}
		return err
	})
}

// inDir calls f with a path of the sandbox's directory that is short enough for the name of a socket.
func (s *sandbox) inDir(f func(string) error) error {
	dir, err := os.Open(s.dir)
	if err != nil {
		return err
	}
	defer dir.Close()
	return f(fmt.Sprintf("/proc/self/fd/%d", dir.Fd()))
}

// keep lets the pause process live longer than this one.
func (s *sandbox) keep() error {
	var id string
	if err := s.pause.Call("Pause.Keep", pod.Nothing{}, &id); err != nil {
		return s.explain(err)
	}
	if id != s.Sandbox.ID {
		return fmt.Errorf("the pause process is of sandbox %s", id)
	}
	return nil
}

// explain adds what a pause process has said before it ended.
func (s *sandbox) explain(err error) error {
	if text, _ := os.ReadFile(filepath.Join(s.dir, pauseLogFile)); len(text) > 0 {
		return fmt.Errorf("%w: %s", err, text)
	}
	return err
}

// alive tells whether the pause process is there, and not another with its number.
func (s *sandbox) alive() bool { return s.PID != 0 && s.Start != 0 && pod.StartTime(s.PID) == s.Start }

// killPause kills the pause process, if it is there, and waits for it if this process has started it.
func (s *sandbox) killPause() {
	if s.PID == 0 {
		return
	}
	pod.Kill(s.PID, s.alive)
	pod.Reap(s.PID, s.Start)
}

// network is how a pod's network is set up.
func (r *Runtime) network(address netip.Addr) pod.Network {
	return pod.Network{Link: bridge.PodLink, Prefix: r.o.CIDR.Masked(), Address: address,
		Gateway: addresses.New(r.o.CIDR).Gateway()}
}
