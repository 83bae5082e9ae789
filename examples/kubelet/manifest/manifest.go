package manifest

import (
	"bytes"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/seed3bce33ad/listwatch"
)

// Options say what is read for whom. Path and Node must be set.
type Options struct {
	// Path is the directory. Node is the name of the node that the pods run on.
	Path, Node string
	// Logger hears of files that are no pods. Defaults to nobody.
	Logger *slog.Logger
}

// Dir is a directory with a file for each pod. Make one with [New].
type Dir struct {
	o Options

	mu sync.Mutex
	// The following are guarded by mu.
	files map[string]*file // by name
	pods  map[types.UID]*corev1.Pod
	past  map[types.UID]bool // those that were, while that is not sure of all
	sure  bool               // what is no pod here is none
	fault string             // why the directory could not be read
}

// file is one as it was read last.
type file struct {
	text  []byte
	pod   *corev1.Pod // the last that was good; nil: none was
	fault string      // why the text is no pod
}

// New returns a directory that was not read yet.
func New(o Options) *Dir {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Dir{o: o, files: map[string]*file{}, pods: map[types.UID]*corev1.Pod{}, past: map[types.UID]bool{}}
}

// Read reads the directory and reports whether there are other pods now, or pods that are certain to have gone. It blocks for
// the reading.
func (d *Dir) Read() (changed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	texts, err := read(d.o.Path)
	if err != nil {
		if d.fault != err.Error() {
			d.fault = err.Error()
			d.o.Logger.Warn("no manifests", "node", d.o.Node, "error", err)
		}
		return false
	}
	d.fault = ""
	for name := range d.files {
		if _, ok := texts[name]; !ok {
			delete(d.files, name)
		}
	}
	for name, text := range texts {
		d.takeLocked(name, text)
	}
	before, unsure := d.pods, !d.sure
	d.pods, d.sure = d.goodLocked()
	for uid := range before {
		d.past[uid] = true
	}
	if d.sure {
		clear(d.past)
	}
	same := func(a, b *corev1.Pod) bool { return a.UID == b.UID }
	return !maps.EqualFunc(before, d.pods, same) || unsure && d.sure
}

// takeLocked takes what a file says, if that is something else than before.
func (d *Dir) takeLocked(name string, text []byte) {
	f := d.files[name]
	if f != nil && bytes.Equal(f.text, text) {
		return
	}
	if f == nil {
		f = &file{}
		d.files[name] = f
	}
	f.text = text
	pod, err := Parse(name, text, d.o.Node)
	f.fault = ""
	if err != nil {
		f.fault = err.Error()
		d.o.Logger.Warn("manifest is no pod", "node", d.o.Node, "file", name, "error", err)
		return
	}
	f.pod = pod
}

// goodLocked returns the pods of all files, and whether nothing else may be meant.
func (d *Dir) goodLocked() (pods map[types.UID]*corev1.Pod, sure bool) {
	pods, sure = map[types.UID]*corev1.Pod{}, true
	taken := map[listwatch.Key]bool{}
	for _, name := range slices.Sorted(maps.Keys(d.files)) {
		f := d.files[name]
		if f.pod == nil {
			sure = false // one of an earlier run may be meant
			continue
		}
		key := listwatch.Key{Namespace: f.pod.Namespace, Name: f.pod.Name}
		if taken[key] {
			if f.fault != twice {
				f.fault = twice
				d.o.Logger.Warn("manifest is no pod", "node", d.o.Node, "file", name, "error", twice)
			}
			continue
		}
		taken[key] = true
		pods[f.pod.UID] = f.pod
	}
	return pods, sure
}

const twice = "another file has a pod of that name"

// read returns what the files of a directory say, by name. Files that go meanwhile are not there.
func read(path string) (map[string][]byte, error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	texts := map[string][]byte{}
	for _, e := range entries {
		name := e.Name()
		if ext := filepath.Ext(name); strings.HasPrefix(name, ".") || ext != ".yaml" && ext != ".json" {
			continue
		}
		info, err := os.Stat(filepath.Join(path, name)) // a link may lead to a file
		if err == nil && !info.Mode().IsRegular() {
			continue
		}
		var text []byte
		if err == nil {
			text, err = os.ReadFile(filepath.Join(path, name))
		}
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		texts[name] = text
	}
	return texts, nil
}

// Pods returns the pods, which are shared and must not be changed.
func (d *Dir) Pods() []*corev1.Pod {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Collect(maps.Values(d.pods))
}

// Pod returns the pod with a UID, or nil. It must not be changed.
func (d *Dir) Pod(uid types.UID) *corev1.Pod {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.pods[uid]
}

// Named returns the pod of a name, or nil. It must not be changed.
func (d *Dir) Named(k listwatch.Key) *corev1.Pod {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range d.pods {
		if p.Namespace == k.Namespace && p.Name == k.Name {
			return p
		}
	}
	return nil
}

// Gone reports whether it is certain that no file says a pod: it did before, or the directory was read and there is no file
// that was never understood.
func (d *Dir) Gone(uid types.UID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.pods[uid] == nil && (d.sure || d.past[uid])
}
