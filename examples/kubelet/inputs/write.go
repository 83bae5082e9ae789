package inputs

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// current is the link to the directory that holds the files as they are now. What the volume shows are links through it,
// so that one rename changes all files.
const current = "..data"

// write makes a volume show some files and no others.
func write(dir string, files map[string]file) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	old, err := os.Readlink(filepath.Join(dir, current))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil && same(filepath.Join(dir, old), files) {
		return nil
	}
	fresh, err := os.MkdirTemp(dir, "..")
	if err != nil {
		return err
	}
	if err := fill(fresh, files); err != nil {
		return err
	}
	link := filepath.Join(dir, "..new")
	if err := errors.Join(os.RemoveAll(link), os.Symlink(filepath.Base(fresh), link)); err != nil {
		return err
	}
	if err := os.Rename(link, filepath.Join(dir, current)); err != nil {
		return err
	}
	if err := links(dir, files); err != nil {
		return err
	}
	if old == "" {
		return nil
	}
	return os.RemoveAll(filepath.Join(dir, old))
}

// fill writes the files into a new directory.
func fill(dir string, files map[string]file) error {
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	for path, f := range files {
		to := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(to, f.data, f.mode); err != nil {
			return err
		}
		if err := os.Chmod(to, f.mode); err != nil {
			return err
		}
	}
	return nil
}

// links makes the links that are missing, and takes away those that lead nowhere.
func links(dir string, files map[string]file) error {
	wanted := map[string]bool{}
	for path := range files {
		first, _, _ := strings.Cut(path, string(filepath.Separator))
		wanted[first] = true
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "..") {
			continue
		}
		if !wanted[e.Name()] {
			if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
		delete(wanted, e.Name())
	}
	for name := range wanted {
		if err := os.Symlink(filepath.Join(current, name), filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// same reports whether a directory holds just these files.
func same(dir string, files map[string]file) bool {
	left := len(files)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		f, wanted := files[name]
		data, err := os.ReadFile(path)
		if err != nil || !wanted || !bytes.Equal(data, f.data) {
			return errors.Join(err, fs.ErrInvalid)
		}
		left--
		return nil
	})
	return err == nil && left == 0
}
