//go:build linux

package cgroup

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed3bce33ad/listwatch/examples/runtime"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestFind(t *testing.T) {
	const v1 = `25 30 0:22 / /sys rw - sysfs sysfs rw
31 25 0:27 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:1 - cgroup cgroup rw,cpu,cpuacct
32 25 0:28 /docker/a /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
33 25 0:29 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
`
	g, _ := find("4:cpu,cpuacct:/user\n3:memory:/docker/a/b\n0::/\n", v1)
	require.Equal(t, Group{Dirs: map[string]string{CPU: "/sys/fs/cgroup/cpu,cpuacct/user", CPUAcct: "/sys/fs/cgroup/cpu,cpuacct/user",
		Memory: "/sys/fs/cgroup/memory/b"}}, g)
	g, _ = find("3:memory:/elsewhere\n", v1)
	require.Equal(t, "/sys/fs/cgroup/memory", g.Dirs[Memory], "what is above the mount can't be seen")

	const v2 = "31 25 0:27 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw,nsdelegate\n"
	dir := "/sys/fs/cgroup/user.slice"
	g, top := find("0::/user.slice\n", v2)
	require.Equal(t, Group{V2: true, Dirs: map[string]string{CPU: dir, CPUAcct: dir, Memory: dir}}, g)
	require.Equal(t, []string{"/sys/fs/cgroup"}, top.Paths())
	g, _ = find("", "")
	require.Empty(t, g.Dirs)
}

// TestFiles checks what is written to which file, and read from which, in directories that stand for groups.
func TestFiles(t *testing.T) {
	limits := runtime.Limits{MilliCPU: 250, MemoryBytes: 1 << 20}
	write := func(dir, file, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
	}
	wrote := func(dir, file string) string {
		require.NoError(t, os.Chmod(filepath.Join(dir, file), 0o600))
		text, err := os.ReadFile(filepath.Join(dir, file))
		require.NoError(t, err)
		return string(text)
	}

	root := t.TempDir()
	g, err := Group{V2: true, Dirs: map[string]string{CPU: root, CPUAcct: root, Memory: root}}.Child("c", limits)
	require.NoError(t, err)
	dir := filepath.Join(root, "c")
	require.Equal(t, []string{dir}, g.Paths())
	require.Equal(t, "25000 100000", wrote(dir, "cpu.max"))
	require.Equal(t, "1048576", wrote(dir, "memory.max"))
	require.Equal(t, dir+"/memory.events", g.OOMFile())
	write(dir, "cpu.stat", "nr_periods 1\nusage_usec 1500\n")
	write(dir, "memory.current", "5000\n")
	write(dir, "memory.stat", "anon 1\ninactive_file 1000\n")
	cpu, memory, ok := g.Usage()
	require.Equal(t, []any{1500 * time.Microsecond, int64(4000), true}, []any{cpu, memory, ok})

	a, b := t.TempDir(), t.TempDir()
	g, err = Group{Dirs: map[string]string{CPU: a, CPUAcct: a, Memory: b}}.Inner("c", limits)
	require.NoError(t, err)
	require.Len(t, g.Paths(), 2)
	require.Equal(t, "25000", wrote(a+"/c", "cpu.cfs_quota_us"))
	require.Equal(t, "1048576", wrote(b+"/c", "memory.limit_in_bytes"))
	require.Equal(t, b+"/c/memory.oom_control", g.OOMFile())
	write(a+"/c", "cpuacct.usage", "77\n")
	write(b+"/c", "memory.usage_in_bytes", "5000\n")
	write(b+"/c", "memory.stat", "total_inactive_file 6000\n")
	cpu, memory, ok = g.Usage()
	require.Equal(t, []any{time.Duration(77), int64(0), true}, []any{cpu, memory, ok})

	none, err := Group{}.Child("c", limits)
	require.NoError(t, err)
	require.Empty(t, none.Paths())
	_, _, ok = none.Usage()
	require.False(t, ok)
	require.NoError(t, none.Remove())
}

// TestRemove lets a group that is not empty in time be told.
func TestRemove(t *testing.T) {
	dir := t.TempDir()
	g := Group{Dirs: map[string]string{CPU: filepath.Join(dir, "a")}}
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "a", "b", "c"), 0o755))
	require.NoError(t, g.Remove())
	require.NoDirExists(t, filepath.Join(dir, "a"))
	require.NoError(t, g.Remove())
}
