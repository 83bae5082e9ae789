//go:build linux

package process_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/seed3bce33ad/listwatch/examples/runtime"
	"github.com/seed3bce33ad/listwatch/examples/runtime/process"
)

// asKubelet is set in the environment of a process that starts containers and waits to be killed. Its value is the
// process.Options in JSON.
const asKubelet = "TEST_AS_KUBELET"

// beKubelet starts a pod, if this process is there for that, tells the ids of its containers, and waits.
func beKubelet() {
	text := os.Getenv(asKubelet)
	if text == "" || os.Getenv("RUNTIME_SANDBOX") != "" {
		return
	}
	process.Reexec()
	var o process.Options
	must(json.Unmarshal([]byte(text), &o))
	r, err := process.New(o)
	must(err)
	ctx := context.Background()
	sandbox, err := r.RunPodSandbox(ctx, runtime.SandboxConfig{Namespace: "default", Name: "web", UID: "u", LogDirectory: o.Dir})
	must(err)
	for i, script := range []string{"exec sleep 86399", "read x <" + o.Dir + "/shared/fifo; echo heard; exit 6"} {
		c, err := r.CreateContainer(ctx, sandbox, runtime.ContainerConfig{Name: fmt.Sprint(i), Image: "builtin",
			Command: []string{"/bin/sh", "-c", script}, LogPath: fmt.Sprintf("%d.log", i), Mounts: []runtime.Mount{
				{ContainerPath: o.Dir + "/shared", HostPath: o.Dir + "/shared"}}})
		must(err)
		must(r.StartContainer(ctx, c))
		fmt.Println(c)
	}
	fmt.Println(sandbox)
	select {}
}

func must(err error) {
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

func kubeletCommand(t *testing.T, o process.Options) *exec.Cmd {
	t.Helper()
	text, err := json.Marshal(o)
	require.NoError(t, err)
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), asKubelet+"="+string(text))
	cmd.Stderr = os.Stderr
	return cmd
}

// kubelet starts a process that starts a pod, kills it, and returns the ids of two containers and of the sandbox.
func kubelet(t *testing.T, o process.Options) []string {
	t.Helper()
	cmd := kubeletCommand(t, o)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	var ids []string
	lines := bufio.NewScanner(out)
	for len(ids) < 3 && lines.Scan() {
		require.NotContains(t, lines.Text(), "error")
		ids = append(ids, lines.Text())
	}
	require.Len(t, ids, 3)
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	return ids
}

func TestKilled(t *testing.T) {
	both(t, func(t *testing.T, o process.Options) {
		fifo := filepath.Join(o.Dir, "shared", "fifo")
		require.NoError(t, os.Mkdir(filepath.Dir(fifo), 0o755))
		require.NoError(t, mkfifo(fifo))
		ids := kubelet(t, o)

		// One ends while nobody looks.
		require.NoError(t, os.WriteFile(fifo, []byte("go\n"), 0))
		waitForLog(t, filepath.Join(o.Dir, "1.log"), "stdout F heard")
		n := &node{Runtime: open(t, o), t: t, dir: o.Dir, logs: o.Dir, sandbox: ids[2]}
		require.Equal(t, 6, n.ended(ids[1]).ExitCode)
		all, err := n.ListPodSandboxes(t.Context())
		require.NoError(t, err)
		require.Len(t, all, 1)
		require.True(t, all[0].Ready)
		require.Equal(t, ids[2], all[0].ID)
		require.Equal(t, runtime.Running, n.container(ids[0]).State)

		// It is as if this process had started it.
		require.NotEqual(t, all[0].IP, n.ip(n.pod("next")))
		require.Equal(t, "web\n", n.exec(ids[0], "hostname"))
		another := n.start(runtime.ContainerConfig{Name: "another", Image: "builtin/pause"})
		require.NoError(t, n.Close())
		n.Runtime = open(t, o)
		require.Equal(t, runtime.Running, n.container(another).State)
		require.NoError(t, n.StopContainer(t.Context(), ids[0], 0))
		require.Equal(t, 137, n.container(ids[0]).ExitCode)

		// The sandbox ends while nobody looks.
		require.NoError(t, n.Close())
		require.NoError(t, unix.Kill(n.pausePID(), unix.SIGKILL))
		n.Runtime = open(t, o)
		require.Equal(t, []any{runtime.Exited, 137, "the sandbox has ended"},
			[]any{n.container(another).State, n.container(another).ExitCode, n.container(another).Message})
		all, err = n.ListPodSandboxes(t.Context())
		require.NoError(t, err)
		require.False(t, all[0].Ready)
		require.True(t, all[1].Ready)
		require.Empty(t, marked(t, n.sandbox))
	})
}

// TestKilledAnywhere kills programs while they make pods: what they leave half made is found and can be removed.
func TestKilledAnywhere(t *testing.T) {
	both(t, func(t *testing.T, o process.Options) {
		links := run(t, linksCommand)
		require.NoError(t, os.Mkdir(filepath.Join(o.Dir, "shared"), 0o755))
		require.NoError(t, mkfifo(filepath.Join(o.Dir, "shared", "fifo")))
		for range 6 {
			cmd := kubeletCommand(t, o)
			require.NoError(t, cmd.Start())
			<-time.After(20*time.Millisecond + rand.N(60*time.Millisecond))
			require.NoError(t, cmd.Process.Kill())
			_ = cmd.Wait()
		}
		n := &node{Runtime: open(t, o), t: t}
		all, err := n.ListPodSandboxes(t.Context())
		require.NoError(t, err)
		containers, err := n.ListContainers(t.Context())
		require.NoError(t, err)
		for _, c := range containers {
			if c.State == runtime.Running {
				require.Equal(t, "web\n", n.exec(c.ID, "hostname"))
			}
		}
		var ids []string
		for _, s := range all {
			require.NoError(t, n.RemovePodSandbox(t.Context(), s.ID))
			require.Empty(t, marked(t, s.ID))
			ids = append(ids, s.ID)
		}
		require.NoError(t, n.Close())
		require.Equal(t, links, run(t, linksCommand))
		nothingOf(t, o.Dir, ids...)
	})
}

// record is what the runtime has written of the sandbox.
func (n *node) record() (path string, fields map[string]any) {
	n.t.Helper()
	path = filepath.Join(n.dir, "sandboxes", n.sandbox, "sandbox.json")
	text, err := os.ReadFile(path)
	require.NoError(n.t, err)
	require.NoError(n.t, json.Unmarshal(text, &fields))
	return path, fields
}

func (n *node) pausePID() int {
	_, fields := n.record()
	return int(fields["PID"].(float64))
}

func TestPauseProcessDies(t *testing.T) {
	both(t, func(t *testing.T, o process.Options) {
		n := newNode(t, o)
		c := n.start(runtime.ContainerConfig{Name: "c", Image: "builtin/pause"})
		require.NoError(t, unix.Kill(n.pausePID(), unix.SIGKILL))
		require.Equal(t, 137, n.ended(c).ExitCode)
		until(t, n, func() bool {
			all, err := n.ListPodSandboxes(t.Context())
			require.NoError(t, err)
			return !all[0].Ready
		})
		require.Empty(t, marked(t, n.sandbox))
		require.NoError(t, n.StopContainer(t.Context(), c, 0))
	})
}

// TestNumberOfAnother lets the number of a pause process belong to a process that has nothing to do with it.
func TestNumberOfAnother(t *testing.T) {
	both(t, func(t *testing.T, o process.Options) {
		bystander := exec.Command("sleep", "86399")
		require.NoError(t, bystander.Start())
		t.Cleanup(func() { _ = bystander.Process.Kill(); _ = bystander.Wait() })
		n := newNode(t, o)
		require.NoError(t, n.Close())
		path, fields := n.record()
		pause := n.pausePID()
		fields["PID"], fields["Start"] = bystander.Process.Pid, fields["Start"].(float64)-1000
		text, err := json.Marshal(fields)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, text, 0o600))
		n.Runtime = open(t, o)
		all, err := n.ListPodSandboxes(t.Context())
		require.NoError(t, err)
		require.False(t, all[0].Ready)
		require.NoError(t, n.RemovePodSandbox(t.Context(), n.sandbox))
		require.NoError(t, bystander.Process.Signal(syscall.Signal(0)))
		state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", bystander.Process.Pid))
		require.NoError(t, err)
		require.NotContains(t, string(state), ") Z ")
		_ = unix.Kill(pause, unix.SIGKILL) // the true one, which is forgotten; without a PID namespace it was found
		_, err = unix.Wait4(pause, nil, 0, nil)
		require.NoError(t, err)
	})
}

func TestOneRuntimeADirectory(t *testing.T) {
	o := process.Options{Dir: t.TempDir()}
	r := open(t, o)
	_, err := process.New(o)
	require.ErrorContains(t, err, "another runtime uses the directory")
	require.NoError(t, r.Close())
	open(t, o)
	_, err = process.New(process.Options{})
	require.ErrorContains(t, err, "Dir is not set")
}

// A removal that was broken off at any point is finished by the next runtime.
func TestRemovalBrokenOff(t *testing.T) {
	for _, broken := range []string{"containers", "containers/*", "containers/*/container.json", "sandbox.json"} {
		n := newNode(t, process.Options{Dir: t.TempDir()})
		n.start(runtime.ContainerConfig{Name: "c", Command: []string{"sleep", "1000"}})
		require.NoError(t, n.StopPodSandbox(t.Context(), n.sandbox))
		require.NoError(t, n.Close())
		found, err := filepath.Glob(filepath.Join(n.dir, "sandboxes", "*", broken))
		require.NoError(t, err)
		require.NotEmpty(t, found, broken)
		for _, path := range found {
			require.NoError(t, os.RemoveAll(path))
		}
		next := open(t, process.Options{Dir: n.dir})
		require.NoError(t, next.RemovePodSandbox(t.Context(), n.sandbox))
		require.NoError(t, next.Close())
		left, err := os.ReadDir(filepath.Join(n.dir, "sandboxes"))
		require.NoError(t, err)
		require.Empty(t, left, broken)
	}
}
