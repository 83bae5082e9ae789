package crew_test

import (
	"context"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch/examples/cluster/crew"
	"github.com/seed3bce33ad/listwatch/examples/cluster/parts"
	"github.com/seed3bce33ad/listwatch/examples/runtime/runtimetest"
)

// orphaned names the directory of a cluster whose API server is to be run until somebody kills this process.
const orphaned = "CREW_TEST_ORPHANED"

func TestMain(m *testing.M) {
	crew.Reexec()
	if dir := os.Getenv(orphaned); dir != "" {
		c := crew.New(options(parts.Settings{Dir: dir, Listen: "127.0.0.1:0"}, quiet))
		if err := c.StartAll(context.Background()); err != nil {
			panic(err)
		}
		_, _ = os.Stdout.WriteString("started\n")
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	}
	runtimetest.Main(m)
}

// options are those of a crew with an API server alone.
func options(s parts.Settings, logger func(string) *slog.Logger) crew.Options {
	return crew.Options{Names: []string{parts.APIServer}, Launch: crew.Apart(s, logger), Logger: logger}
}

// holds tells whether an API server has its data in a directory: etcd locks them.
func holds(t *testing.T, dir string) bool {
	t.Helper()
	file, err := os.OpenFile(dir+"/etcd/member/snap/db", os.O_RDWR, 0)
	if os.IsNotExist(err) {
		return false
	}
	require.NoError(t, err)
	defer file.Close()
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	return err != nil
}

func TestProcesses(t *testing.T) {
	s := parts.Settings{Dir: t.TempDir(), Listen: "127.0.0.1:0"}
	told := make(chan string, 100)
	logger := func(string) *slog.Logger { return slog.New(slog.NewTextHandler(lines(told), nil)) }
	c := crew.New(options(s, logger))
	defer c.Close()
	require.NoError(t, c.StartAll(t.Context()))
	first := <-told
	require.Contains(t, first, "serving address=https://127.0.0.1:")
	require.True(t, holds(t, s.Dir))
	c.Kill(parts.APIServer)
	second := <-told
	_, was, _ := strings.Cut(first, "msg=")
	_, is, _ := strings.Cut(second, "msg=")
	require.Equal(t, was, is, "it comes back at the same address")
	c.Close()
	require.False(t, holds(t, s.Dir))
	require.Empty(t, told, "an end that was asked for is none to speak of")
}

// lines is a writer that sends what is written.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

func TestProcessesEndWithTheirParent(t *testing.T) {
	dir := t.TempDir()
	parent := exec.CommandContext(t.Context(), os.Args[0])
	parent.Env = append(os.Environ(), orphaned+"="+dir)
	out, err := parent.StdoutPipe()
	require.NoError(t, err)
	_, err = parent.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, parent.Start())
	started := make([]byte, len("started\n"))
	_, err = io.ReadFull(out, started)
	require.NoError(t, err)
	require.True(t, holds(t, dir))
	require.NoError(t, parent.Process.Kill())
	require.Eventually(t, func() bool { return !holds(t, dir) }, time.Minute, 10*time.Millisecond)
	require.Error(t, parent.Wait())
}
