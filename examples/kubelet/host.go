package kubelet

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/seed3bce33ad/listwatch/examples/runtime"
)

// Host is what a kubelet shows to those who answer others for it, such as package server. A *Kubelet is one. All methods
// are safe for concurrent use.
type Host interface {
	// Pods returns the pods of the node with their status as it is now, static ones too. They belong to the caller.
	Pods() []*corev1.Pod
	// Container finds a container and its log. Its errors are those of k8s.io/apimachinery/pkg/api/errors: NotFound when
	// there is no such pod, BadRequest when the pod has no such container, or when it has not run yet.
	Container(ctx context.Context, r Ref) (Found, error)
	// Runtime is where commands are executed.
	Runtime() runtime.Service
	// Summary returns what the node and its running containers use.
	Summary(ctx context.Context) (*Summary, error)
}

// Ref names a container.
type Ref struct {
	// Namespace and Name are the pod's. UID is the pod's too; "": whichever has the name.
	Namespace, Name string
	UID             types.UID
	// Container is its name in the pod. "": the pod's only one.
	Container string
	// Previous: not the newest container of that name, but the one before it.
	Previous bool
}

// Found is a container that was asked for.
type Found struct {
	// Pod is the pod that it belongs to, with its status as it is now.
	Pod *corev1.Pod
	// Container is how it is in the runtime.
	runtime.Container
	// IP is the pod's address.
	IP string
	// LogPath is the file that its output goes to, in the format of runtime.ContainerConfig.LogPath. It may not be there yet.
	LogPath string
}

// Summary is what is used, as JSON in the form that /stats/summary of a kubelet has.
type Summary struct {
	Node NodeStats  `json:"node"`
	Pods []PodStats `json:"pods"`
}

// NodeStats is what the containers of a node use together.
type NodeStats struct {
	NodeName  string      `json:"nodeName"`
	StartTime metav1.Time `json:"startTime"`
	CPU       CPUStats    `json:"cpu"`
	Memory    MemoryStats `json:"memory"`
}

// PodStats is what the containers of a pod use.
type PodStats struct {
	PodRef     PodReference     `json:"podRef"`
	StartTime  metav1.Time      `json:"startTime"`
	Containers []ContainerStats `json:"containers"`
	CPU        CPUStats         `json:"cpu"`
	Memory     MemoryStats      `json:"memory"`
}

// PodReference names a pod.
type PodReference struct {
	Name      string    `json:"name"`
	Namespace string    `json:"namespace"`
	UID       types.UID `json:"uid"`
}

// ContainerStats is what a container uses.
type ContainerStats struct {
	Name      string      `json:"name"`
	StartTime metav1.Time `json:"startTime"`
	CPU       CPUStats    `json:"cpu"`
	Memory    MemoryStats `json:"memory"`
}

// CPUStats is CPU time. UsageNanoCores is the rate of the time between the last two looks, at least a second; nil: there
// was only one so far.
type CPUStats struct {
	Time                 metav1.Time `json:"time"`
	UsageNanoCores       *uint64     `json:"usageNanoCores,omitempty"`
	UsageCoreNanoSeconds uint64      `json:"usageCoreNanoSeconds"`
}

// MemoryStats is memory that is held.
type MemoryStats struct {
	Time            metav1.Time `json:"time"`
	WorkingSetBytes uint64      `json:"workingSetBytes"`
}
