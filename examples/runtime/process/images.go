//go:build linux

package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/seed3bce33ad/listwatch/examples/runtime"
	"github.com/seed3bce33ad/listwatch/examples/runtime/process/internal/commands"
)

// builtin is the image of the commands that the program brings along. Those below it run one of them.
const builtin = "builtin"

// imageFile describes an image, in its directory.
const imageFile = "image.json"

// image is where a container comes from. The fields of imageFile have the names that the configuration of an OCI image has.
type image struct {
	id      string
	root    string // empty for the node's own
	builtin bool

	Entrypoint, Cmd, Env   []string
	WorkingDir, StopSignal string
}

// find returns an image by its name: builtin, builtin/COMMAND, either with a tag, or the path of a directory.
func (r *Runtime) find(name string) (image, error) {
	missing := fmt.Errorf("image %q: %w", name, runtime.ErrNotFound)
	base, _, _ := strings.Cut(name, ":")
	if command, below := strings.CutPrefix(base, builtin+"/"); below || base == builtin {
		i := image{id: name, builtin: true}
		if below {
			if !commands.Has(command) {
				return image{}, missing
			}
			i.Entrypoint = []string{command}
		}
		return i, nil
	}
	root := name
	if !filepath.IsAbs(name) {
		if r.o.ImageDir == "" || !filepath.IsLocal(name) {
			return image{}, missing
		}
		root = filepath.Join(r.o.ImageDir, name)
	}
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		return image{}, missing
	}
	if root, err = filepath.Abs(root); err != nil {
		return image{}, err
	}
	if info, err := os.Stat(root); err != nil || !info.IsDir() {
		return image{}, missing
	}
	i := image{id: root, root: root}
	if err := read(filepath.Join(root, imageFile), &i); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return image{}, fmt.Errorf("image %q: %w", name, err)
	}
	if i.StopSignal != "" && i.signal() == 0 {
		return image{}, fmt.Errorf("image %q: no signal %q", name, i.StopSignal)
	}
	return i, nil
}

// signal returns what asks a container to end.
func (i image) signal() int {
	if i.StopSignal == "" {
		return int(unix.SIGTERM)
	}
	return int(unix.SignalNum("SIG" + strings.TrimPrefix(i.StopSignal, "SIG")))
}

// PullImage looks whether an image is there; its id is the path of its directory, or its name. See runtime.Images.
func (r *Runtime) PullImage(_ context.Context, name string) (string, error) {
	i, err := r.find(name)
	if err != nil {
		return "", err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.images[i.id] = true
	return i.id, nil
}

// ListImages returns the built-in images, those in Options.ImageDir, and those that were pulled, by name. See
// runtime.Images.
func (r *Runtime) ListImages(context.Context) ([]string, error) {
	all := []string{builtin}
	for _, name := range commands.Names() {
		all = append(all, builtin+"/"+name)
	}
	if r.o.ImageDir != "" {
		entries, err := os.ReadDir(r.o.ImageDir)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if i, err := r.find(e.Name()); err == nil {
				all = append(all, i.id)
			}
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for id := range r.images {
		all = append(all, id)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}
