package crew

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/seed3bce33ad/listwatch/examples/cluster/narrate"
	"github.com/seed3bce33ad/listwatch/examples/cluster/parts"
)

// patience is how long a process has to end before it is killed.
const patience = 15 * time.Second

// settingsOf is the variable of the environment by which a child is told the settings, and partOf that for which part it is.
const (
	settingsOf = "LISTWATCH_CLUSTER_SETTINGS"
	partOf     = "LISTWATCH_CLUSTER_PART"
)

// Apart launches parts as processes of their own: this program anew, which must call [Reexec] first. What they log goes to
// the logger of their part.
func Apart(s parts.Settings, logger func(part string) *slog.Logger) Launch {
	return func(ctx context.Context, name string, ready func()) error {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		settings, err := json.Marshal(s)
		if err != nil {
			return err
		}
		cmd := exec.CommandContext(ctx, self)
		cmd.Args[0] = "cluster " + name
		cmd.Env = append(os.Environ(), settingsOf+"="+string(settings), partOf+"="+name)
		cmd.SysProcAttr = ownGroup() // an interrupt at the terminal is for us alone
		cmd.WaitDelay = patience
		cmd.Cancel = func() error {
			if errors.Is(context.Cause(ctx), errKilled) {
				return cmd.Process.Kill()
			}
			return cmd.Process.Signal(syscall.SIGTERM)
		}
		err = follow(cmd, ready, logger(name))
		if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			return nil // it has ended well when it was told to
		}
		return err
	}
}

// follow runs a child, and hears what it says.
func follow(cmd *exec.Cmd, ready func(), to *slog.Logger) error {
	alive, err := cmd.StdinPipe() // open for as long as we live
	if err != nil {
		return err
	}
	defer alive.Close()
	lines, logs := io.Pipe()
	cmd.Stdout, cmd.Stderr = writer(func(p []byte) {
		if strings.Contains(string(p), "ready") {
			ready()
		}
	}), logs
	var hearing sync.WaitGroup
	hearing.Go(func() { _ = lines.CloseWithError(narrate.Repeat(lines, to)) }) // it returns nil, always
	err = cmd.Run()
	err = errors.Join(err, logs.Close())
	hearing.Wait()
	return err
}

// writer is a function that gets what is written.
type writer func([]byte)

func (w writer) Write(p []byte) (int, error) {
	w(p)
	return len(p), nil
}

// Reexec is called by a program that uses [Apart] before it does anything else: when it was started as a part, Reexec runs
// that and does not return.
func Reexec() {
	name, ok := os.LookupEnv(partOf)
	if !ok {
		return
	}
	var s parts.Settings
	err := json.Unmarshal([]byte(os.Getenv(settingsOf)), &s)
	for _, variable := range []string{partOf, settingsOf} {
		err = errors.Join(err, os.Unsetenv(variable)) // pods are this program too
	}
	if err == nil {
		err = serve(s, name)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serve runs a part until it is told to end, or nobody is left who could.
func serve(s parts.Settings, name string) error {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	var parent sync.WaitGroup // it is not waited for: the process ends
	parent.Go(func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // whatever it ends by
		cancel()
	})
	return parts.Run(ctx, s, name, parts.Observer{
		Logger: narrate.Child(os.Stderr), Ready: func() { fmt.Println("ready") },
	})
}
