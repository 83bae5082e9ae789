//go:build linux

package process

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/seed3bce33ad/listwatch/examples/runtime/process/internal/bridge"
	"github.com/seed3bce33ad/listwatch/examples/runtime/process/internal/commands"
	"github.com/seed3bce33ad/listwatch/examples/runtime/process/internal/pod"
)

// Reexec is called by a program that uses this package before it does anything else, in main and in TestMain. Pause
// processes, first steps of containers and built-in commands are the program itself under other names: when it runs as one
// of them, Reexec does that and does not return.
func Reexec() {
	argument := ""
	if len(os.Args) > 1 {
		argument = os.Args[1]
	}
	var err error
	// syscall.Exit, since os.Exit takes a second in a program that looks for data races.
	switch name := filepath.Base(os.Args[0]); {
	case name == pod.PauseName:
		err = pod.RunPause(argument)
	case name == pod.ContainerName:
		err = pod.RunContainer(argument)
	case name == pod.EnterName:
		syscall.Exit(pod.RunEnter())
	case name == pod.ProbeName:
		syscall.Exit(pod.RunProbe(argument))
	case os.Getenv(commands.Variable) != "" && commands.Has(name):
		syscall.Exit(commands.Run(name, os.Args[1:]))
	default:
		return
	}
	fmt.Fprintln(os.Stderr, err)
	syscall.Exit(1)
}

// commandsDir is where the built-in commands are as files, in the directory of a runtime.
const commandsDir = "bin"

// linkCommands lets the names of the built-in commands lead to this program.
func linkCommands(dir string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, name := range commands.Names() {
		path := filepath.Join(dir, name)
		if target, err := os.Readlink(path); err == nil && target == self {
			continue
		}
		if err := os.Symlink(self, path+".new"); err != nil && !os.IsExist(err) {
			return err
		}
		if err := os.Rename(path+".new", path); err != nil {
			return err
		}
	}
	return nil
}

// SetUpLoopback makes the loopback usable in the network namespace of this process, such as one that was made for a test.
func SetUpLoopback() error { return bridge.SetUpLoopback() }
