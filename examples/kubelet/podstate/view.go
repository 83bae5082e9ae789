package podstate

import (
	"fmt"
	"hash/fnv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/seed3bce33ad/listwatch/examples/runtime"
)

// View is what a kubelet knows of a pod at one moment. Nothing in it is changed.
type View struct {
	// Pod is what the API or a manifest wants, with the status that was reported last.
	Pod *corev1.Pod
	// Now is the moment.
	Now time.Time
	// HostIP is the address of the node.
	HostIP string
	// Runtime is what containers' ids begin with.
	Runtime string
	// Sandboxes are the pod's, and Containers those in them, in any order.
	Sandboxes  []runtime.Sandbox
	Containers []runtime.Container
	// Probed is what probes have found, by container id. What was not probed yet is missing.
	Probed map[string]Probed
	// Busy are the names of the containers that are being started at this moment.
	Busy map[string]bool
	// Held says why containers could not be started, by name, and when it is tried again.
	Held map[string]Held
	// Failed says why the pod must not run. Nil: it may.
	Failed *Held
	// Deleted is true when the pod is to end, since it was deleted.
	Deleted bool
}

// Probed is what the probes of a container say.
type Probed struct {
	// Started: the startup probe has succeeded, or there is none. Ready: the readiness probe says so, or there is none.
	Started, Ready bool
	// Dead says which probe has given the container up. Empty: none.
	Dead string
}

// Held is a reason, in a word and in a sentence.
type Held struct {
	Reason, Message string
	// Since is when it began, and Until when it is over.
	Since, Until time.Time
}

// The reasons why an image is not there: it was just asked for, or will be later.
const (
	ErrImagePull     = "ErrImagePull"
	ImagePullBackOff = "ImagePullBackOff"
	// shown is how long the first is told before the second is.
	shown = time.Second
)

// The annotations that containers are made with, so that another run of the kubelet knows them.
const (
	// AnnotationHash is the [Hash] of what the container was made from.
	AnnotationHash = "kubelet.listwatch/hash"
	// AnnotationBackoff is how long is waited after the container's end before its successor is made.
	AnnotationBackoff = "kubelet.listwatch/backoff"
)

// Hash tells whether a container is the one that is wanted: of what may be changed in a pod that is the image.
func Hash(c *corev1.Container) string {
	h := fnv.New32a()
	fmt.Fprintf(h, "%s\x00%s", c.Name, c.Image)
	return fmt.Sprintf("%08x", h.Sum32())
}

// Sandbox returns the newest sandbox that is ready, or nil.
func (v *View) Sandbox() *runtime.Sandbox {
	var newest *runtime.Sandbox
	for i := range v.Sandboxes {
		if s := &v.Sandboxes[i]; s.Ready && (newest == nil || s.Config.Attempt > newest.Config.Attempt) {
			newest = s
		}
	}
	return newest
}

// Latest returns the newest container of a name, or nil.
func (v *View) Latest(name string) *runtime.Container { return v.before(name, -1) }

// Previous returns the newest container of a name that is older than the newest one and has ended, or nil.
func (v *View) Previous(name string) *runtime.Container {
	if l := v.Latest(name); l != nil && l.Config.Attempt > 0 {
		return v.before(name, l.Config.Attempt)
	}
	return nil
}

// before returns the newest container of a name whose attempt is below a limit; a negative limit is none.
func (v *View) before(name string, limit int) *runtime.Container {
	var newest *runtime.Container
	for i := range v.Containers {
		c := &v.Containers[i]
		if c.Config.Name == name && (limit < 0 || c.Config.Attempt < limit) && (newest == nil || c.Config.Attempt > newest.Config.Attempt) {
			newest = c
		}
	}
	return newest
}

// Running returns the containers that run.
func (v *View) Running() []runtime.Container {
	var running []runtime.Container
	for _, c := range v.Containers {
		if c.State == runtime.Running {
			running = append(running, c)
		}
	}
	return running
}

// reported returns the status of a container that was reported last, or nil.
func (v *View) reported(name string) *corev1.ContainerStatus {
	for _, all := range [][]corev1.ContainerStatus{v.Pod.Status.InitContainerStatuses, v.Pod.Status.ContainerStatuses} {
		for i := range all {
			if all[i].Name == name {
				return &all[i]
			}
		}
	}
	return nil
}

// probed is what is known of a running container by its probes; without any it has started and is ready.
func (v *View) probed(c *corev1.Container, id string) Probed {
	if p, ok := v.Probed[id]; ok {
		return p
	}
	return Probed{Started: c.StartupProbe == nil, Ready: c.ReadinessProbe == nil && c.StartupProbe == nil}
}

// up reports whether a container runs, has started as its startup probe sees it, and is past its first hook.
func (v *View) up(c *corev1.Container, l *runtime.Container) bool {
	return l != nil && l.State == runtime.Running && !v.Busy[c.Name] && v.probed(c, l.ID).Started
}

// Sidecar reports whether an init container runs beside the others instead of before them.
func Sidecar(c *corev1.Container) bool {
	return ptr.Deref(c.RestartPolicy, "") == corev1.ContainerRestartPolicyAlways
}

// Terminal reports whether a pod in that phase has ended for good.
func Terminal(phase corev1.PodPhase) bool {
	return phase == corev1.PodSucceeded || phase == corev1.PodFailed
}

// Ended reports whether nothing of the pod is to be started any more, because others say so.
func (v *View) Ended() bool { return v.Deleted || v.Failed != nil || Terminal(v.Pod.Status.Phase) }
