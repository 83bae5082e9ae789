package hollow_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed3bce33ad/listwatch/examples/runtime"
	"github.com/seed3bce33ad/listwatch/examples/runtime/hollow"
	"github.com/seed3bce33ad/listwatch/examples/runtime/runtimetest"
)

// pretend lets containers behave as the commands of the suite do.
func pretend() hollow.Options {
	missing := errors.New("no such command")
	return hollow.Options{
		Behave: func(_ runtime.SandboxConfig, c runtime.ContainerConfig) hollow.Behaviour {
			command := append(c.Command, c.Args...)
			switch command[0] {
			case "exit":
				code, _ := strconv.Atoi(command[1])
				return hollow.Behaviour{ExitAfter: time.Microsecond, ExitCode: code}
			case runtimetest.MissingCommand:
				return hollow.Behaviour{FailStart: missing}
			}
			return hollow.Behaviour{}
		},
		Exec: func(ctx context.Context, _ runtime.Container, e runtime.Exec) (int, error) {
			switch e.Command[0] {
			case "exit":
				return strconv.Atoi(e.Command[1])
			case "echo":
				_, err := fmt.Fprintln(e.Stdout, strings.Join(e.Command[1:], " "))
				return 0, err
			case "sleep":
				<-ctx.Done()
				return 0, context.Cause(ctx)
			}
			return 0, missing
		},
		Pull: func(_ context.Context, image string) error {
			if image == runtimetest.MissingImage {
				return runtime.ErrNotFound
			}
			return nil
		},
	}
}

func TestConformance(t *testing.T) {
	runtimetest.Conformance(t, func(t *testing.T) runtimetest.Runtime { return open(t, pretend()) })
}
