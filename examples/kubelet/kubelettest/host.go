// Package kubelettest has a host for tests of what asks kubelets: pods are what a test says, their logs are files that it
// writes, and commands are run as processes of the test.
//
// # Concurrency
//
// A [Host] is safe for concurrent use.
package kubelettest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seed3bce33ad/listwatch/examples/kubelet"
	"github.com/seed3bce33ad/listwatch/examples/runtime"
)

// Host is a [kubelet.Host]. Make one with [New].
type Host struct {
	runtime.Service // what it lacks panics
	t               testing.TB
	dir             string

	mu sync.Mutex
	// The following are guarded by mu.
	pods       []*corev1.Pod
	containers []found
	made       int
}

// found is a container and whose it is.
type found struct {
	runtime.Container
	pod string
}

// New returns a host without pods. Its logs are in a directory of the test.
func New(t testing.TB) *Host { return &Host{t: t, dir: t.TempDir()} }

// Add adds a pod, with the address 127.0.0.1, whose containers run. In place of one of the same name it is a new one.
func (h *Host) Add(p *corev1.Pod) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p = p.DeepCopy()
	p.Status.PodIP = "127.0.0.1"
	h.pods = slices.DeleteFunc(h.pods, func(old *corev1.Pod) bool { return key(old) == key(p) })
	h.containers = slices.DeleteFunc(h.containers, func(old found) bool { return old.pod == key(p) })
	h.pods = append(h.pods, p)
	for _, c := range p.Spec.Containers {
		h.startLocked(key(p), c.Name)
	}
}

func key(p *corev1.Pod) string { return p.Namespace + "/" + p.Name }

func (h *Host) startLocked(pod, container string) {
	attempt := 0
	for _, c := range h.containers {
		if c.pod == pod && c.Config.Name == container {
			attempt++
		}
	}
	h.made++
	h.containers = append(h.containers, found{pod: pod, Container: runtime.Container{
		ID: fmt.Sprintf("c%d", h.made), State: runtime.Running, Created: time.Now(), Started: time.Now(),
		Config: runtime.ContainerConfig{Name: container, Attempt: attempt},
	}})
}

// Exit ends a container of a pod, which is NAMESPACE/NAME.
func (h *Host) Exit(pod, container string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.newestLocked(pod, container).State = runtime.Exited
}

// Restart ends a container and starts the next one.
func (h *Host) Restart(pod, container string) {
	h.Exit(pod, container)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.startLocked(pod, container)
}

func (h *Host) newestLocked(pod, container string) *found {
	for i := range slices.Backward(h.containers) {
		if c := &h.containers[i]; c.pod == pod && c.Config.Name == container {
			return c
		}
	}
	panic("kubelettest: there is no container " + container + " in " + pod)
}

// Log adds lines to the log of a container.
func (h *Host) Log(pod, container string, lines ...string) {
	h.t.Helper()
	h.mu.Lock()
	path := h.pathOf(h.newestLocked(pod, container).Container)
	h.mu.Unlock()
	var text bytes.Buffer
	for _, line := range lines {
		fmt.Fprintf(&text, "%s stdout F %s\n", time.Now().UTC().Format(time.RFC3339Nano), line)
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = file.Write(text.Bytes())
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		h.t.Errorf("kubelettest: %v", err)
	}
}

func (h *Host) pathOf(c runtime.Container) string { return filepath.Join(h.dir, c.ID+".log") }

// Pods is for [kubelet.Host].
func (h *Host) Pods() []*corev1.Pod {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.pods)
}

// Container is for [kubelet.Host].
func (h *Host) Container(_ context.Context, r kubelet.Ref) (kubelet.Found, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	name := r.Namespace + "/" + r.Name
	i := slices.IndexFunc(h.pods, func(p *corev1.Pod) bool { return key(p) == name })
	if i < 0 {
		return kubelet.Found{}, apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, r.Name)
	}
	var all []runtime.Container
	for _, c := range h.containers {
		if c.pod == name && c.Config.Name == r.Container {
			all = append(all, c.Container)
		}
	}
	if r.Previous {
		all = all[:max(0, len(all)-1)]
	}
	if len(all) == 0 {
		return kubelet.Found{}, apierrors.NewBadRequest(fmt.Sprintf("previous terminated container %q in pod %q not found", r.Container, r.Name))
	}
	c := all[len(all)-1]
	return kubelet.Found{Pod: h.pods[i], Container: c, IP: "127.0.0.1", LogPath: h.pathOf(c)}, nil
}

// Runtime is for [kubelet.Host].
func (h *Host) Runtime() runtime.Service { return h }

// Summary is for [kubelet.Host]. It tells the names of pods only.
func (h *Host) Summary(context.Context) (*kubelet.Summary, error) {
	s := &kubelet.Summary{}
	for _, p := range h.Pods() {
		s.Pods = append(s.Pods, kubelet.PodStats{PodRef: kubelet.PodReference{Namespace: p.Namespace, Name: p.Name, UID: p.UID}})
	}
	return s, nil
}

// ListContainers is for [runtime.Service].
func (h *Host) ListContainers(context.Context) ([]runtime.Container, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []runtime.Container
	for _, c := range h.containers {
		all = append(all, c.Container)
	}
	return all, nil
}

// Exec is for [runtime.Service]. The command is run as a process of the test. With TTY it has no terminal, but is told each
// size as a line on standard error, which is the same as standard output.
func (h *Host) Exec(ctx context.Context, _ string, e runtime.Exec) (int, error) {
	c := exec.CommandContext(ctx, e.Command[0], e.Command[1:]...)
	c.Stdout, c.Stderr = e.Stdout, e.Stderr
	var copying, resizing sync.WaitGroup // copying ends when the client's streams are closed
	if e.Stdin != nil {
		stdin, err := c.StdinPipe() // so that nobody waits for a client that goes on sending
		if err != nil {
			return 0, err
		}
		copying.Go(func() {
			_, _ = io.Copy(stdin, e.Stdin)
			_ = stdin.Close()
		})
	}
	ended := make(chan struct{})
	if e.TTY {
		resizing.Go(func() {
			for {
				select {
				case size := <-e.Resize:
					fmt.Fprintf(e.Stdout, "size %dx%d\r\n", size.Width, size.Height)
				case <-ended:
					return
				}
			}
		})
	}
	err := c.Run()
	close(ended)
	resizing.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) && ctx.Err() == nil {
		return exit.ExitCode(), nil
	}
	return 0, err
}
