//go:build linux

package pod

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// RootDir is the name of the directory, among the files of a container, at which its root is put together.
const RootDir = "root"

// enterRoot makes the root of a container and its mounts, in its own mount namespace, and goes there.
func enterRoot(c Container) error {
	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("make mounts the container's own: %w", err)
	}
	sources := make([]int, len(c.Mounts))
	for i, m := range c.Mounts {
		fd, err := unix.OpenTree(unix.AT_FDCWD, m.Host, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
		if err != nil {
			return fmt.Errorf("mount %s: %s: %w", m.Path, m.Host, err)
		}
		sources[i] = fd
	}
	root, err := makeRoot(c, filepath.Join(c.Dir, RootDir))
	if err != nil {
		return err
	}
	if root != "/" {
		if err := system(c, root); err != nil {
			return err
		}
		if err := pivot(root); err != nil {
			return err
		}
	}
	for i, m := range c.Mounts {
		if err := mount(m, sources[i], root != "/"); err != nil {
			return fmt.Errorf("mount %s: %w", m.Path, err)
		}
		unix.Close(sources[i])
	}
	return nil
}

// makeRoot returns the path of what becomes the root: a layer above the image, which is put together at base, the image
// itself, or what is the root already.
func makeRoot(c Container, base string) (string, error) {
	image := c.Root
	if image == "" {
		image = "/"
	}
	if !c.Overlay {
		if image == "/" {
			return image, nil
		}
		return image, bind(image, image)
	}
	if err := unix.Mount("tmpfs", base, "tmpfs", 0, "mode=755"); err != nil {
		return "", fmt.Errorf("mount what a container writes: %w", err)
	}
	for _, dir := range []string{"upper", "work", "merged"} {
		if err := os.Mkdir(filepath.Join(base, dir), 0o755); err != nil {
			return "", err
		}
	}
	// By relative paths, so that no character of theirs means anything in the options.
	if err := os.Chdir(base); err != nil {
		return "", err
	}
	if err := os.Symlink(image, "image"); err != nil {
		return "", err
	}
	if err := unix.Mount("overlay", "merged", "overlay", 0, "lowerdir=image,upperdir=upper,workdir=work"); err != nil {
		return "", fmt.Errorf("mount a layer above the image: %w", err)
	}
	return filepath.Join(base, "merged"), nil
}

// system shows in a root what every program expects: of the node's own root, what is mounted there; else /proc, /dev
// and /sys.
func system(c Container, root string) error {
	if c.Root == "" {
		points, err := mountPoints()
		if err != nil {
			return err
		}
		for _, point := range points {
			if strings.HasPrefix(point, c.Dir+"/") {
				continue // the new root itself
			}
			_ = bind(point, root+point) // what can't be shown, such as what a user has mounted alone, is left out
		}
		return nil
	}
	for _, point := range []string{"/proc", "/dev", "/sys"} {
		if err := os.MkdirAll(root+point, 0o755); err != nil {
			return err
		}
		if err := bind(point, root+point); err != nil {
			return err
		}
	}
	return unix.Mount("", root+"/sys", "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, "")
}

// mountPoints returns where something is mounted below the root, but not what is below another of them.
func mountPoints() ([]string, error) {
	file, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var all []string
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		point := unescape.Replace(fields[4])
		below := point == "/"
		for _, other := range all {
			below = below || strings.HasPrefix(point+"/", other+"/")
		}
		if !below {
			all = append(all, point)
		}
	}
	return all, lines.Err()
}

func bind(from, to string) error {
	if err := unix.Mount(from, to, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("mount %s: %w", from, err)
	}
	return nil
}

// pivot makes a mount the root of this mount namespace, and lets go of the one before.
func pivot(root string) error {
	if err := os.Chdir(root); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("change the root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("let go of the node's root: %w", err)
	}
	return os.Chdir("/")
}

// mount puts a tree to its path. What is not there is made only in a root that is the container's own.
func mount(m Mount, tree int, own bool) error {
	if _, err := os.Stat(m.Path); err != nil {
		if !own {
			return fmt.Errorf("it must be there, since the container has no root of its own: %w", err)
		}
		if err := makePoint(m.Path, tree); err != nil {
			return err
		}
	}
	if err := unix.MoveMount(tree, "", unix.AT_FDCWD, m.Path, unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_SYMLINKS); err != nil {
		return err
	}
	if !m.ReadOnly {
		return nil
	}
	return unix.Mount("", m.Path, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, "")
}

func makePoint(path string, tree int) error {
	var info unix.Stat_t
	if err := unix.Fstat(tree, &info); err != nil {
		return err
	}
	if info.Mode&unix.S_IFMT == unix.S_IFDIR {
		return os.MkdirAll(path, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, nil, 0o644)
}
