//go:build linux

package process_test

import (
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/seed3bce33ad/listwatch/examples/runtime"
	"github.com/seed3bce33ad/listwatch/examples/runtime/process"
)

func mkfifo(path string) error { return unix.Mkfifo(path, 0o600) }

// marked returns the processes that were started in sandboxes of this test: those whose environment names one.
func marked(t *testing.T, sandbox string) []int {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	require.NoError(t, err)
	var all []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		environ, err := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		if err == nil && strings.Contains(string(environ), "RUNTIME_SANDBOX="+sandbox) {
			all = append(all, pid)
		}
	}
	return all
}

func TestGrace(t *testing.T) {
	both(t, func(t *testing.T, o process.Options) {
		n := newNode(t, o)
		ready, hear := n.fifo()
		deaf := n.shell("trap '' TERM; sleep 86399 & echo ready >" + ready + "; while :; do wait; done")
		require.Equal(t, "ready", hear())
		require.NoError(t, n.StopContainer(t.Context(), deaf, 50*time.Millisecond))
		c := n.container(deaf)
		require.Equal(t, []any{runtime.Exited, 137, "Error"}, []any{c.State, c.ExitCode, c.Reason})

		polite := n.shell("trap 'echo bye; exit 5' TERM; echo ready >" + ready + "; while :; do sleep 0.01; done")
		require.Equal(t, "ready", hear())
		require.NoError(t, n.StopContainer(t.Context(), polite, time.Minute))
		require.Equal(t, 5, n.container(polite).ExitCode)
		require.Contains(t, n.log(), "stdout F bye")
	})
}

func TestContainerTakesItsProcessesWithIt(t *testing.T) {
	both(t, func(t *testing.T, o process.Options) {
		n := newNode(t, o)
		stays := n.start(runtime.ContainerConfig{Name: "stays", Image: "builtin/pause"})
		ready, hear := n.fifo()
		c := n.shell("setsid sleep 86399 & sleep 1001 & echo ready >" + ready + "; exit 4")
		require.Equal(t, "ready", hear())
		require.Equal(t, 4, n.ended(c).ExitCode)
		require.Len(t, marked(t, n.sandbox), 2, "the pause process and the other container")
		require.Equal(t, runtime.Running, n.container(stays).State)
	})
}

// TestSignalsAreTheDefault lets containers do with signals what they like: none is ignored from the start.
func TestSignalsAreTheDefault(t *testing.T) {
	both(t, func(t *testing.T, o process.Options) {
		n := newNode(t, o)
		c := n.shell("grep -E '^Sig(Ign|Blk)' /proc/self/status")
		require.Zero(t, n.ended(c).ExitCode)
		for line := range strings.Lines(n.log()) {
			require.Contains(t, line, "\t0000000000000000")
		}
	})
}

func TestNothingIsLeft(t *testing.T) {
	both(t, func(t *testing.T, o process.Options) {
		links := run(t, linksCommand)
		r, err := process.New(o)
		require.NoError(t, err)
		n := &node{Runtime: r, t: t, dir: o.Dir, logs: t.TempDir(), shared: t.TempDir()}
		n.sandbox = n.pod("web")
		ready, hear := n.fifo()
		// Without its environment and in a session of its own it is found by its parents alone.
		c := n.start(runtime.ContainerConfig{Name: "c", Command: []string{"/bin/sh", "-c",
			"/usr/bin/env -i setsid /bin/sh -c 'sleep 86399 & echo $$ >" + ready + "; wait' & wait"},
			Limits: runtime.Limits{MilliCPU: 500, MemoryBytes: 64 << 20}, LogPath: "c.log",
			Mounts: []runtime.Mount{{ContainerPath: "/mnt/x", HostPath: n.logs}}})
		require.NotEmpty(t, hear())
		n.start(runtime.ContainerConfig{Name: "d", Image: "builtin/web"})
		require.Equal(t, runtime.Running, n.container(c).State)
		require.NoError(t, n.RemovePodSandbox(t.Context(), n.sandbox))
		require.Empty(t, marked(t, n.sandbox))
		entries, err := os.ReadDir(n.logs)
		require.NoError(t, err)
		require.Empty(t, entries)
		entries, err = os.ReadDir(filepath.Join(o.Dir, "sandboxes"))
		require.NoError(t, err)
		require.Empty(t, entries)
		require.NoError(t, r.Close())
		require.Equal(t, links, run(t, linksCommand))
		nothingOf(t, o.Dir, n.sandbox)
	})
}

// nothingOf checks that nothing of a runtime with that directory, and of those sandboxes, is left: no process, mount or
// cgroup. Those of others on this machine are none of ours.
func nothingOf(t *testing.T, dir string, sandboxes ...string) {
	t.Helper()
	hash := fnv.New32a()
	hash.Write([]byte(dir))
	for _, command := range []string{
		"ps -e -o args | grep -E '^(" + strings.Join(append([]string{"sleep 86399"}, sandboxes...), "|.*") + ")' | grep -v grep",
		"grep -F '" + dir + "' /proc/self/mountinfo",
		fmt.Sprintf("find /sys/fs/cgroup -name 'pods-%x*' 2>/dev/null", hash.Sum(nil)),
	} {
		require.Empty(t, run(t, "{ "+command+"; } || true"), command)
	}
}

// linksCommand tells the links of this network namespace.
const linksCommand = "ls /sys/class/net; cat /proc/net/dev | cut -d: -f1"

// run returns what a command prints.
func run(t *testing.T, command string) string {
	t.Helper()
	out, err := exec.Command("sh", "-c", command).CombinedOutput()
	require.NoError(t, err, string(out))
	return string(out)
}

func TestOutOfMemory(t *testing.T) {
	n := newNode(t, process.Options{Dir: t.TempDir()})
	limited := !strings.Contains(strings.Join(n.Missing(), " "), "cgroup memory")
	size, limit := 200<<20, int64(50<<20)
	c := n.start(runtime.ContainerConfig{Name: "c", Image: "builtin/burn",
		Args:   []string{"-cpu", "0", "-memory", strconv.Itoa(size)},
		Limits: runtime.Limits{MemoryBytes: limit}})
	small := n.start(runtime.ContainerConfig{Name: "small", Command: []string{"/bin/sleep", "86399"},
		Limits: runtime.Limits{MemoryBytes: 4 << 20}})
	require.Equal(t, runtime.Running, n.container(small).State, "its limit is not for what starts it")
	if !limited { // what was told is what happens
		require.Equal(t, runtime.Running, n.container(c).State)
		return
	}
	ended := n.ended(c)
	require.Equal(t, []any{137, "OOMKilled"}, []any{ended.ExitCode, ended.Reason})
}

func TestStats(t *testing.T) {
	both(t, func(t *testing.T, o process.Options) {
		n := newNode(t, o)
		busy := n.start(runtime.ContainerConfig{Name: "busy", Image: "builtin/burn", Args: []string{"-memory", "30000000"}})
		n.start(runtime.ContainerConfig{Name: "idle", Image: "builtin/pause"})
		// Only the clock of the kernel tells how much was used.
		require.Eventually(t, func() bool {
			all, err := n.Stats(t.Context())
			require.NoError(t, err)
			require.Len(t, all, 2)
			require.Equal(t, busy, all[0].Container)
			require.Less(t, all[1].CPU, 5*time.Second)
			return all[0].CPU >= 100*time.Millisecond && all[0].MemoryBytes >= 30_000_000
		}, time.Minute, 10*time.Millisecond)
	})
}
