//go:build linux

package process_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch/examples/runtime"
	"github.com/seed3bce33ad/listwatch/examples/runtime/process"
	"github.com/seed3bce33ad/listwatch/examples/runtime/runtimetest"
)

func TestConformance(t *testing.T) {
	both(t, func(t *testing.T, o process.Options) {
		runtimetest.Conformance(t, func(t *testing.T) runtimetest.Runtime {
			o.Dir = t.TempDir()
			return open(t, o)
		})
	})
}

func TestPodsHaveNetworks(t *testing.T) {
	both(t, func(t *testing.T, o process.Options) {
		n := newNode(t, o)
		first := n.sandbox
		serve := func(name string) {
			id := n.start(runtime.ContainerConfig{Name: name, Image: "builtin/web:2", LogPath: name + ".log"})
			waitForLog(t, filepath.Join(n.logs, name+".log"), "listening")
			require.Equal(t, runtime.Running, n.container(id).State)
		}
		serve("server")
		client := n.start(runtime.ContainerConfig{Name: "client", Image: "builtin/pause"})
		n.sandbox = n.pod("other")
		serve("same-port")
		n.start(runtime.ContainerConfig{Name: "bystander", Image: "builtin/pause"})

		here := "localhost"
		if !n.Networked() {
			here = n.ip(first)
		}
		require.Equal(t, "web\n", n.exec(client, "fetch", "http://"+here+":8080/"))
		require.Equal(t, "other\n", n.exec(client, "fetch", "http://"+n.ip(n.sandbox)+":8080/"))
		require.Equal(t, "web\n", get(t, n.ip(first)), "the node reaches its pods")
		require.Equal(t, "other\n", get(t, n.ip(n.sandbox)))
		require.Contains(t, n.exec(client, "fetch", "http://"+here+":8080/env"), "RUNTIME_IMAGE=builtin/web:2\n")
		require.Equal(t, "web\n", n.exec(client, "hostname"))
	})
}

// TestNodesReachEachOther has the pods of two nodes on one machine speak with each other.
func TestNodesReachEachOther(t *testing.T) {
	first := newNode(t, process.Options{Dir: t.TempDir(), CIDR: netip.MustParsePrefix("10.244.1.0/24"),
		LoopbackCIDR: netip.MustParsePrefix("127.244.1.0/24")})
	second := newNode(t, process.Options{Dir: t.TempDir(), CIDR: netip.MustParsePrefix("10.244.2.0/24"),
		LoopbackCIDR: netip.MustParsePrefix("127.244.2.0/24")})
	second.start(runtime.ContainerConfig{Name: "server", Image: "builtin/web", LogPath: "server.log", Args: []string{"-text", "second"}})
	waitForLog(t, filepath.Join(second.logs, "server.log"), "listening")
	client := first.start(runtime.ContainerConfig{Name: "client", Image: "builtin/pause"})
	require.Equal(t, "second\n", first.exec(client, "fetch", "http://"+second.ip(second.sandbox)+":8080/"))
	require.True(t, second.CIDR().Contains(netip.MustParseAddr(second.ip(second.sandbox))))
}

// waitForLog returns when a file has a text. Nothing tells of what a container writes but the file.
func waitForLog(t *testing.T, path, text string) {
	t.Helper()
	require.Eventually(t, func() bool {
		have, _ := os.ReadFile(path)
		return strings.Contains(string(have), text)
	}, time.Minute, 5*time.Millisecond)
}

func get(t *testing.T, ip string) string {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get("http://" + net.JoinHostPort(ip, "8080") + "/")
	require.NoError(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return string(text)
}

func TestHostNetwork(t *testing.T) {
	both(t, func(t *testing.T, o process.Options) {
		n := newNode(t, o)
		id, err := n.RunPodSandbox(t.Context(), runtime.SandboxConfig{Namespace: "default", Name: "h", UID: "h", HostNetwork: true})
		require.NoError(t, err)
		require.Empty(t, n.ip(id))
		n.sandbox = id
		c := n.start(runtime.ContainerConfig{Name: "c", Image: "builtin/pause"})
		own, err := os.Readlink("/proc/self/ns/net")
		require.NoError(t, err)
		require.Equal(t, own+"\n", n.exec(c, "readlink", "/proc/self/ns/net"))
	})
}

func TestLog(t *testing.T) {
	both(t, func(t *testing.T, o process.Options) {
		n := newNode(t, o)
		c := n.shell("echo one; echo two >&2; head -c 20000 /dev/zero | tr '\\0' x; echo; printf end")
		require.Equal(t, "Completed", n.ended(c).Reason)
		var got []string
		entry := regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}(?:Z|[+-]\d\d:\d\d) (stdout|stderr) ([FP]) (.*)$`)
		for line := range strings.Lines(n.log()) {
			parts := entry.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
			require.NotNil(t, parts, line)
			got = append(got, fmt.Sprint(parts[1], " ", parts[2], " ", len(parts[3])))
		}
		require.ElementsMatch(t, []string{"stdout F 3", "stderr F 3", "stdout P 16384", "stdout F 3616", "stdout P 3"}, got)
		require.NoError(t, n.RemoveContainer(t.Context(), c))
		require.NoFileExists(t, filepath.Join(n.logs, "shell.log"))
	})
}

func TestEnvironment(t *testing.T) {
	both(t, func(t *testing.T, o process.Options) {
		n := newNode(t, o)
		dir := t.TempDir()
		c := n.start(runtime.ContainerConfig{Name: "c", Image: "builtin/sleep", Args: []string{"1h"}, WorkingDir: dir,
			Env: []string{"A=1", "A=2", "HOME=/root"}})
		env := n.exec(c, "env")
		for _, want := range []string{"A=2", "HOME=/root", "HOSTNAME=web", "POD_IP=" + n.ip(n.sandbox)} {
			require.Contains(t, env, want+"\n")
		}
		require.NotContains(t, env, "A=1")
		require.NotContains(t, env, "GOROOT", "nothing comes from this program")
		require.Equal(t, dir+"\n", n.exec(c, "pwd"))
		require.Equal(t, "2\n", n.exec(c, "env", "A"))
	})
}

func TestImageDirectory(t *testing.T) {
	both(t, func(t *testing.T, o process.Options) {
		o.ImageDir = t.TempDir()
		root := filepath.Join(o.ImageDir, "app")
		write := func(path, text string, mode os.FileMode) {
			require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, path)), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(root, path), []byte(text), mode))
		}
		write("opt/run.sh", "#!/bin/sh\necho \"$0 $* in $(pwd) with $A\"; echo written >new; cat new; trap 'exit 7' USR1; sleep 86399 & wait\n", 0o755)
		write("image.json", `{"Entrypoint":["/opt/run.sh"],"Cmd":["default"],"Env":["A=b"],"WorkingDir":"/opt","StopSignal":"SIGUSR1"}`, 0o644)
		n := newNode(t, o)
		id, err := n.PullImage(t.Context(), "app")
		require.NoError(t, err)
		images, err := n.ListImages(t.Context())
		require.NoError(t, err)
		require.Contains(t, images, id)
		config := runtime.ContainerConfig{Name: "shell", Image: "app", Args: []string{"asked"}, LogPath: "shell.log"}
		if n.full() {
			config.Mounts = systemMounts()
		}
		c := n.start(config)
		waitForLog(t, filepath.Join(n.logs, "shell.log"), "written")
		at, in := "/opt/run.sh", "/opt"
		if !n.full() {
			at, in = filepath.Join(id, at), filepath.Join(id, in)
		}
		require.Contains(t, n.log(), " stdout F "+at+" asked in "+in+" with b\n")
		if n.full() {
			require.NoFileExists(t, filepath.Join(root, "opt/new"), "a container does not write to its image")
			require.Equal(t, "written\n", n.exec(c, "cat", "/opt/new"))
		}
		require.NoError(t, n.StopContainer(t.Context(), c, time.Minute))
		require.Equal(t, 7, n.container(c).ExitCode, "it was asked by the signal of its image")

		write("image.json", `{"StopSignal":"NONE"}`, 0o644)
		_, err = n.PullImage(t.Context(), "app")
		require.ErrorContains(t, err, `no signal "NONE"`)
		for _, name := range []string{"../app", "none", "builtin/none", filepath.Join(root, "image.json")} {
			_, err = n.PullImage(t.Context(), name)
			require.ErrorIs(t, err, runtime.ErrNotFound, name)
		}
	})
}

// systemMounts are of the directories with the node's programs, for an image without any.
func systemMounts() []runtime.Mount {
	var all []runtime.Mount
	for _, dir := range []string{"/bin", "/usr", "/lib", "/lib64"} {
		if _, err := os.Stat(dir); err == nil {
			all = append(all, runtime.Mount{ContainerPath: dir, HostPath: dir, ReadOnly: true})
		}
	}
	return all
}

// full tells whether containers have file systems and PIDs of their own.
func (n *node) full() bool { return !strings.Contains(strings.Join(n.Missing(), " "), "namespace") }

func TestMounts(t *testing.T) {
	both(t, func(t *testing.T, o process.Options) {
		n := newNode(t, o)
		shared, config := t.TempDir(), filepath.Join(t.TempDir(), "settings")
		require.NoError(t, os.WriteFile(config, []byte("a=b\n"), 0o644))
		c := n.start(runtime.ContainerConfig{Name: "c", Image: "builtin/pause", Mounts: []runtime.Mount{
			{ContainerPath: "/var/not-there/shared", HostPath: shared},
			{ContainerPath: "/etc/not-there/settings", HostPath: config, ReadOnly: true}}})
		at := ""
		if !n.full() {
			at = strings.TrimSpace(n.exec(c, "env", "CONTAINER_ROOT"))
		}
		require.Equal(t, "a=b\n", n.exec(c, "cat", at+"/etc/not-there/settings"))
		n.exec(c, "sh", "-c", "echo hello >"+at+"/var/not-there/shared/file")
		text, err := os.ReadFile(filepath.Join(shared, "file"))
		require.NoError(t, err)
		require.Equal(t, "hello\n", string(text))
		require.NoDirExists(t, "/var/not-there")
		if n.full() {
			code, err := n.Exec(t.Context(), c, runtime.Exec{Command: []string{"sh", "-c", "echo >>/etc/not-there/settings"}})
			require.NoError(t, err)
			require.NotZero(t, code, "it is read-only")
		}
		within := filepath.Join(shared, "within")
		require.NoError(t, os.Mkdir(within, 0o755))
		id, err := n.CreateContainer(t.Context(), n.sandbox, runtime.ContainerConfig{Name: "nested", Image: "builtin/pause",
			Mounts: []runtime.Mount{{ContainerPath: "/mnt/a/within", HostPath: filepath.Dir(config)}, {ContainerPath: "/mnt/a/", HostPath: shared}}})
		if n.full() {
			require.NoError(t, err)
			require.NoError(t, n.StartContainer(t.Context(), id))
			require.Equal(t, "a=b\n", n.exec(id, "cat", "/mnt/a/within/settings"))
		} else {
			require.ErrorContains(t, err, "mount /mnt/a/within: without a mount namespace, one mount can't be within another")
		}
		id, err = n.CreateContainer(t.Context(), n.sandbox, runtime.ContainerConfig{Name: "d", Image: "builtin/pause",
			Mounts: []runtime.Mount{{ContainerPath: "/x", HostPath: filepath.Join(shared, "none")}}})
		if err == nil {
			err = n.StartContainer(t.Context(), id)
		}
		require.ErrorContains(t, err, "mount /x: "+filepath.Join(shared, "none"))
	})
}
