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
	if err := join(c.Cgroups); err != nil {
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
	return fmt.Errorf("exec %s: %w", program, unix.Exec(program, c.Args, c.Env))
}

// join moves this process into cgroups.
func join(cgroups []string) error {
	for _, dir := range cgroups {
		if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte("0"), 0); err != nil {
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
