//go:build linux

package process_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch/examples/runtime"
	"github.com/seed3bce33ad/listwatch/examples/runtime/process"
)

func TestExec(t *testing.T) {
	both(t, func(t *testing.T, o process.Options) {
		n := newNode(t, o)
		c := n.start(runtime.ContainerConfig{Name: "c", Image: "builtin/pause"})
		var out, errs bytes.Buffer
		code, err := n.Exec(t.Context(), c, runtime.Exec{Command: []string{"sh", "-c", "cat; echo oops >&2; exit 9"},
			Stdin: strings.NewReader("given"), Stdout: &out, Stderr: &errs})
		require.NoError(t, err)
		require.Equal(t, []any{9, "given", "oops\n"}, []any{code, out.String(), errs.String()})
		code, err = n.Exec(t.Context(), c, runtime.Exec{Command: []string{"sh", "-c", "kill -9 $$"}})
		require.NoError(t, err)
		require.Equal(t, 137, code)
		_, err = n.Exec(t.Context(), c, runtime.Exec{Command: []string{"not-there"}})
		require.ErrorContains(t, err, `exec: "not-there": executable file not found in $PATH`)
		_, err = n.Exec(t.Context(), c, runtime.Exec{})
		require.ErrorContains(t, err, "no command given")
	})
}

func TestExecIsKilled(t *testing.T) {
	both(t, func(t *testing.T, o process.Options) {
		n := newNode(t, o)
		c := n.start(runtime.ContainerConfig{Name: "c", Image: "builtin/pause"})
		ctx, cancel := context.WithCancelCause(t.Context())
		left := errors.New("left")
		r, w := io.Pipe()
		context.AfterFunc(t.Context(), func() { w.Close() })
		_, err := n.Exec(ctx, c, runtime.Exec{Command: []string{"sh", "-c", "echo ready; sleep 86399; true"}, Stdin: r,
			Stdout: writer(func([]byte) { cancel(left) })})
		require.ErrorIs(t, err, left)
		require.NoError(t, w.Close())
		require.Len(t, marked(t, n.sandbox), 2, "the pause process and the container")

		// When the container ends, so do commands in it.
		code, err := n.Exec(t.Context(), c, runtime.Exec{Command: []string{"sh", "-c", "echo ready; sleep 86399; true"},
			Stdout: writer(func([]byte) { require.NoError(t, n.StopContainer(t.Context(), c, 0)) })})
		require.NoError(t, err)
		require.Equal(t, 137, code)
	})
}

// writer calls a function with what is written.
type writer func([]byte)

func (w writer) Write(p []byte) (int, error) {
	w(p)
	return len(p), nil
}

func TestTerminal(t *testing.T) {
	both(t, func(t *testing.T, o process.Options) {
		n := newNode(t, o)
		c := n.start(runtime.ContainerConfig{Name: "c", Image: "builtin/pause"})
		sizes := make(chan runtime.Size)
		in, typed := io.Pipe()
		shown, out := io.Pipe()
		result := make(chan int, 1)
		context.AfterFunc(t.Context(), func() { typed.Close() })
		done := make(chan struct{})
		go func() {
			defer close(done)
			code, err := n.Exec(t.Context(), c, runtime.Exec{TTY: true, Resize: sizes, Stdin: in, Stdout: out,
				Command: []string{"sh", "-c", `test -t 0 && test -t 1 && echo terminal; read x; stty size; read x; echo "$TERM $x"; exit 3`}})
			require.NoError(t, err)
			result <- code
			out.Close()
		}()
		screen := ""
		see := func(text string) {
			t.Helper()
			for !strings.Contains(screen, text) {
				buffer := make([]byte, 1000)
				got, err := shown.Read(buffer)
				require.NoError(t, err, screen)
				screen += string(buffer[:got])
			}
		}
		see("terminal\r\n")
		sizes <- runtime.Size{Width: 123, Height: 45}
		sizes <- runtime.Size{Width: 124, Height: 45} // when this is taken, the one before is set
		_, err := typed.Write([]byte("\n"))
		require.NoError(t, err)
		see("45 12")
		_, err = typed.Write([]byte("hello\n"))
		require.NoError(t, err)
		see("xterm hello\r\n")
		require.Equal(t, 3, <-result)
		<-done
		require.NoError(t, typed.Close())
	})
}
