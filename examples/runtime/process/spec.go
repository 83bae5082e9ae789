//go:build linux

package process

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed3bce33ad/listwatch/examples/runtime"
	"github.com/seed3bce33ad/listwatch/examples/runtime/process/internal/commands"
	"github.com/seed3bce33ad/listwatch/examples/runtime/process/internal/pod"
)

// systemPath is where commands are looked for, unless an image says otherwise.
const systemPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// mountsVariable tells a container without a mount namespace of its own where its mounts are.
const mountsVariable = "CONTAINER_ROOT"

// spec is what the pause process is to run.
func (r *Runtime) spec(s *sandbox, c *container, i image) pod.Container {
	config := c.Config
	spec := pod.Container{ID: c.ID, Dir: c.dir, Mount: r.rights.mount, Overlay: r.rights.overlay,
		Cgroups: c.Cgroups.Paths(), OOM: c.Cgroups.OOMFile(), Log: c.Log, Args: command(config, i), WorkingDir: "/"}
	for _, dir := range []string{config.WorkingDir, i.WorkingDir} {
		if dir != "" {
			spec.WorkingDir = dir
			break
		}
	}
	path := systemPath
	if i.builtin {
		path = filepath.Join(r.o.Dir, commandsDir) + ":" + path
	}
	for _, m := range outerFirst(config.Mounts) {
		spec.Mounts = append(spec.Mounts, pod.Mount{Path: m.ContainerPath, Host: m.HostPath, ReadOnly: m.ReadOnly})
	}
	var more []string
	switch {
	case r.rights.mount:
		spec.Root = i.root
	case i.root != "":
		path = withinRoot(i.root, &spec)
	}
	if !r.rights.mount && len(spec.Mounts) > 0 {
		more = append(more, mountsVariable+"="+filepath.Join(c.dir, pod.RootDir))
	}
	env := []string{"PATH=" + path, "HOSTNAME=" + s.Sandbox.Config.Hostname, "HOME=/"}
	if s.Sandbox.IP != "" {
		env = append(env, "POD_IP="+s.Sandbox.IP)
	}
	env = slices.Concat(env, i.Env, config.Env, more,
		[]string{pod.Marker + "=" + c.ID, pod.SandboxMarker + "=" + s.Sandbox.ID})
	if i.builtin {
		env = append(env, commands.Variable+"="+i.id)
	}
	spec.Env = lastOfEach(env)
	return spec
}

// outerFirst returns mounts so that each comes after those that it is within.
func outerFirst(mounts []runtime.Mount) []runtime.Mount {
	return slices.SortedStableFunc(slices.Values(mounts), func(a, b runtime.Mount) int {
		return cmp.Compare(filepath.Clean(a.ContainerPath), filepath.Clean(b.ContainerPath))
	})
}

// linkMounts makes what stands for mounts where there can be none: links to them below a directory.
func linkMounts(dir string, mounts []runtime.Mount) error {
	outer := ""
	for _, m := range outerFirst(mounts) {
		path := filepath.Join(dir, filepath.Join("/", m.ContainerPath))
		if outer != "" && strings.HasPrefix(path, outer+"/") {
			return fmt.Errorf("mount %s: without a mount namespace, one mount can't be within another", m.ContainerPath)
		}
		outer = path
		if !exists(m.HostPath) {
			return fmt.Errorf("mount %s: %s: %w", m.ContainerPath, m.HostPath, fs.ErrNotExist)
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("mount %s: %w", m.ContainerPath, err)
		}
		if err := os.Symlink(m.HostPath, path); err != nil {
			return fmt.Errorf("mount %s: %w", m.ContainerPath, err)
		}
	}
	return nil
}

// command is what a container runs: its own command, else that of the image.
func command(config runtime.ContainerConfig, i image) []string {
	if len(config.Command) > 0 {
		return slices.Concat(config.Command, config.Args)
	}
	if len(config.Args) > 0 {
		return slices.Concat(i.Entrypoint, config.Args)
	}
	return slices.Concat(i.Entrypoint, i.Cmd)
}

// withinRoot lets a process find an image that can't be its root: its commands by the PATH that is returned, and its
// working directory.
func withinRoot(root string, spec *pod.Container) (path string) {
	within := func(p string) string {
		if strings.HasPrefix(p, root) {
			return p
		}
		return filepath.Join(root, p)
	}
	spec.WorkingDir = within(spec.WorkingDir)
	if len(spec.Args) > 0 && filepath.IsAbs(spec.Args[0]) {
		if p := within(spec.Args[0]); exists(p) {
			spec.Args[0] = p
		}
	}
	for _, dir := range filepath.SplitList(systemPath) {
		path += within(dir) + ":"
	}
	return path + systemPath
}

// lastOfEach returns the variables of an environment, each with the last of its values.
func lastOfEach(env []string) []string {
	place := map[string]int{}
	var all []string
	for _, e := range env {
		name, _, _ := strings.Cut(e, "=")
		if at, found := place[name]; found {
			all[at] = e
			continue
		}
		place[name] = len(all)
		all = append(all, e)
	}
	return all
}
