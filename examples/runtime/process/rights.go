//go:build linux

package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/seed3bce33ad/listwatch/examples/runtime/process/internal/cgroup"
	"github.com/seed3bce33ad/listwatch/examples/runtime/process/internal/pod"
)

// rights are what this process may do for its pods.
type rights struct {
	network, ipc, uts, pid, mount bool
	// overlay: containers have roots that they may write to.
	overlay bool
	cgroups cgroup.Group
	missing []string
}

func (r *rights) lacks(what string, err error) {
	r.missing = append(r.missing, fmt.Sprintf("%s (%v)", what, err))
}

// probe finds out by trying. It returns an error when not even a process can be started, as without Reexec.
func (r *Runtime) probe() (rights, error) {
	var all rights
	if r.o.Plain {
		for _, what := range []string{"network namespace", "IPC namespace", "UTS namespace", "PID namespace",
			"mount namespace", "overlay filesystem", "cgroups"} {
			all.lacks(what, errors.New("not asked for"))
		}
		_, err := tryClone(0, "")
		return all, err
	}
	namespaces := []struct {
		name string
		flag uintptr
		have *bool
	}{
		{"network namespace", unix.CLONE_NEWNET, &all.network},
		{"IPC namespace", unix.CLONE_NEWIPC, &all.ipc},
		{"UTS namespace", unix.CLONE_NEWUTS, &all.uts},
		{"PID namespace", unix.CLONE_NEWPID | unix.CLONE_NEWNS, &all.pid},
		{"mount namespace", unix.CLONE_NEWNS, &all.mount},
	}
	var every uintptr
	for _, n := range namespaces {
		every |= n.flag
	}
	refused, err := tryClone(every, "")
	if err != nil {
		return all, err
	}
	for _, n := range namespaces {
		if refused != nil { // one of them at least
			refusal, err := tryClone(n.flag, "")
			if err != nil {
				return all, err
			}
			if refusal != nil {
				all.lacks(n.name, refusal)
				continue
			}
		}
		*n.have = true
	}
	if all.mount {
		base := filepath.Join(r.o.Dir, "probe")
		if err := os.MkdirAll(base, 0o755); err != nil {
			return all, err
		}
		refusal, err := tryClone(unix.CLONE_NEWNS, base)
		if err != nil {
			return all, err
		}
		if all.overlay = refusal == nil; refusal != nil {
			all.lacks("overlay filesystem", refusal)
		}
	}
	var missing []string
	all.cgroups, missing = cgroup.Root()
	all.missing = append(all.missing, missing...)
	return all, nil
}

// tryClone starts a process with namespaces, which tries a layer above the root at base, if that is set. It returns why
// the kernel has refused, or an error when that is not what was tried.
func tryClone(flags uintptr, base string) (refused, err error) {
	cmd := exec.Command(pod.Self)
	cmd.Args = []string{pod.ProbeName, base}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil && string(out) == pod.ProbeAnswer:
		return nil, nil
	case err == nil:
		return nil, errors.New("the program did not call Reexec first")
	case errors.As(err, &exit):
		if text := strings.TrimSpace(string(out)); text != "" && exit.ExitCode() == pod.ProbeRefused {
			return errors.New(text), nil
		}
		return nil, fmt.Errorf("%w: %s", err, out)
	case flags != 0:
		var errno syscall.Errno
		if errors.As(err, &errno) {
			err = errno
		}
		return err, nil
	}
	return nil, err
}
