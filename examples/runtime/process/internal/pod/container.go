//go:build linux

package pod

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// failureFile is the number of the file that the first step of a container tells its failure to. It is closed by what
// comes after it.
const failureFile = 3

// RunContainer is the first step of a container, whose argument is the path of a Container in JSON: it goes to where the
// container is to be, and becomes its command. It returns only errors.
func RunContainer(path string) error {
	unix.CloseOnExec(failureFile)
	runtime.LockOSThread()
	err := becomeContainer(path)
	_, _ = os.NewFile(failureFile, "failure").WriteString(err.Error())
	return err
}

func becomeContainer(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var c Container
	if err := json.Unmarshal(text, &c); err != nil {
		return err
	}
	groups, err := openGroups(c.Cgroups)
	if err != nil {
		return err
	}
	if c.Mount {
		if err := enterRoot(c); err != nil {
			return err
		}
	}
	program, err := find(c.Args, c.Env, c.WorkingDir)
	if err != nil {
		return err
	}
	// Last, so that the limits are for the command, and not for what this program needs until here.
	if err := join(groups); err != nil {
		return err
	}
	return fmt.Errorf("exec %s: %w", program, unix.Exec(program, c.Args, c.Env))
}

// openGroups opens the files by which a process enters cgroups. They may be out of sight when it does.
func openGroups(dirs []string) ([]*os.File, error) {
	var all []*os.File
	for _, dir := range dirs {
		file, err := os.OpenFile(filepath.Join(dir, "cgroup.procs"), os.O_WRONLY, 0)
		if err != nil {
			return nil, fmt.Errorf("enter a cgroup: %w", err)
		}
		all = append(all, file)
	}
	return all, nil
}

// join moves this process into cgroups.
func join(groups []*os.File) error {
	for _, file := range groups {
		if _, err := file.WriteString("0"); err != nil {
			return fmt.Errorf("enter a cgroup: %w", err)
		}
	}
	return nil
}

// find goes to a working directory and returns the path of the command of args, for which the PATH in env is searched.
func find(args, env []string, dir string) (string, error) {
	if err := os.Chdir(dir); err != nil {
		return "", err
	}
	if len(args) == 0 || args[0] == "" {
		return "", fmt.Errorf("no command given")
	}
	if strings.Contains(args[0], "/") {
		return args[0], nil
	}
	path := ""
	for _, e := range env {
		if value, found := strings.CutPrefix(e, "PATH="); found {
			path = value
		}
	}
	for _, dir := range filepath.SplitList(path) {
		program := filepath.Join(dir, args[0])
		if info, err := os.Stat(program); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return program, nil
		}
	}
	return "", fmt.Errorf("exec: %q: %w in $PATH", args[0], exec.ErrNotFound)
}
