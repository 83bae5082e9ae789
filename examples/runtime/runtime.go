package runtime

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"
)

// ErrNotFound is what is returned for a sandbox, a container or an image that is not there. To stop or to remove what is
// not there is no error.
var ErrNotFound = errors.New("runtime: not found")

// ErrNotReady is what is returned when a container is to be made or started in a sandbox that has stopped.
var ErrNotReady = errors.New("runtime: sandbox is not ready")

// ErrNotRunning is what is returned when a command is to be run in a container that does not run.
var ErrNotRunning = errors.New("runtime: container is not running")

// Service runs pods: a RuntimeService of the Container Runtime Interface.
type Service interface {
	Sandboxes
	Containers
	Streams
}

// Sandboxes are what the containers of a pod share: network, IPC, host name, and a cgroup.
type Sandboxes interface {
	// RunPodSandbox makes and starts the sandbox of a pod and returns its id.
	RunPodSandbox(ctx context.Context, c SandboxConfig) (id string, err error)
	// StopPodSandbox kills what runs in a sandbox and gives its network back.
	StopPodSandbox(ctx context.Context, id string) error
	// RemovePodSandbox stops a sandbox and forgets it and its containers.
	RemovePodSandbox(ctx context.Context, id string) error
	// ListPodSandboxes returns all sandboxes, those of an earlier run of this program too.
	ListPodSandboxes(ctx context.Context) ([]Sandbox, error)
}

// Containers are the processes of pods.
type Containers interface {
	// CreateContainer makes a container in a sandbox, which StartContainer starts, and returns its id.
	CreateContainer(ctx context.Context, sandbox string, c ContainerConfig) (id string, err error)
	// StartContainer starts a container that was created; one that was started before is left as it is. An error means
	// that it could not run, such as a command that is not there; the container has exited then, with code 128 and
	// reason StartError.
	StartContainer(ctx context.Context, id string) error
	// StopContainer asks a container to end, by SIGTERM or what the image says, kills it after grace, and returns
	// when it has ended. A container that was not started stays so.
	StopContainer(ctx context.Context, id string, grace time.Duration) error
	// RemoveContainer kills a container and forgets it and its log.
	RemoveContainer(ctx context.Context, id string) error
	// ListContainers returns all containers, those of an earlier run of this program too.
	ListContainers(ctx context.Context) ([]Container, error)
}

// Streams are what goes on in containers.
type Streams interface {
	// ContainerEvents calls f when a container has been created, started, has exited or was removed, and when a sandbox is
	// ready, has stopped or was removed, until ctx is done; it returns the cause then. Nothing that happens after the first
	// call of f, which has an empty event, is lost; several changes of the same may be told by one call.
	ContainerEvents(ctx context.Context, f func(Event)) error
	// Exec runs a command in a container until it has ended, and returns its exit code. An error means that it did
	// not run, or was killed since ctx is done.
	Exec(ctx context.Context, id string, e Exec) (code int, err error)
	// Stats returns what containers have used. Containers that do not run are left out.
	Stats(ctx context.Context) ([]Stats, error)
}

// Images are where containers come from: an ImageService of the Container Runtime Interface.
type Images interface {
	// PullImage makes an image ready and returns its id. There is no registry: an image is the path of a directory, or the
	// name of a set of commands that the runtime brings along. It returns ErrNotFound when there is no such image.
	PullImage(ctx context.Context, image string) (id string, err error)
	// ListImages returns the images that are ready.
	ListImages(ctx context.Context) ([]string, error)
}

// SandboxConfig says what pod a sandbox is for.
type SandboxConfig struct {
	// Namespace, Name and UID are the pod's.
	Namespace, Name, UID string
	// Attempt counts the sandboxes of the pod, from 0.
	Attempt int
	// Hostname is what the pod calls itself. Defaults to Name, or what the kernel takes of it: 63 characters.
	Hostname string
	// HostNetwork leaves the pod in the network of its node.
	HostNetwork bool
	// LogDirectory is where the logs of the pod's containers are.
	LogDirectory string
	// Limits are those of all containers together.
	Limits Limits
	// Annotations are kept with the sandbox.
	Annotations map[string]string
}

// WithDefaults returns the config with what is not set as it is by default.
func (c SandboxConfig) WithDefaults() SandboxConfig {
	const longest = 63
	if c.Hostname == "" {
		c.Hostname = strings.TrimRight(c.Name[:min(len(c.Name), longest)], "-.")
	}
	return c
}

// Limits are what may be used. Zero: no limit.
type Limits struct {
	// MilliCPU is thousandths of a CPU. MemoryBytes is memory.
	MilliCPU, MemoryBytes int64
}

// Sandbox is a sandbox that is there.
type Sandbox struct {
	ID     string
	Config SandboxConfig
	// Ready is true until the sandbox is stopped, or its pause process has died.
	Ready bool
	// IP is the pod's address, empty with HostNetwork.
	IP      string
	Created time.Time
	// Missing names what the kernel or the user's rights did not allow, such as "network namespace".
	Missing []string
}

// ContainerConfig says what a container runs.
type ContainerConfig struct {
	// Name is the container's in its pod. Attempt counts how often it was made, from 0.
	Name    string
	Attempt int
	// Image is what PullImage has made ready.
	Image string
	// Command and Args are what is run; without Command, the image's own.
	Command, Args []string
	// Env are NAME=value. WorkingDir is where it starts.
	Env        []string
	WorkingDir string
	Mounts     []Mount
	Limits     Limits
	// LogPath is the file that output goes to, below the sandbox's LogDirectory, in the format that kubelets read:
	// RFC 3339 time with nanoseconds, stream, F or P for a full or a partial line, text.
	LogPath string
	// Annotations are kept with the container.
	Annotations map[string]string
}

// Mount shows a directory or a file of the node to a container.
type Mount struct {
	ContainerPath, HostPath string
	ReadOnly                bool
}

// State is where a container is in its life.
type State int

const (
	// Created containers have not been started.
	Created State = iota
	// Running containers run.
	Running
	// Exited containers have ended, whatever the reason.
	Exited
)

// Container is a container that is there.
type Container struct {
	ID, Sandbox string
	Config      ContainerConfig
	State       State
	ExitCode    int
	// Reason is why it ended, in a word: Completed, Error, OOMKilled, StartError. Message says more.
	Reason, Message            string
	Created, Started, Finished time.Time
}

// Event says that a container is in another state, or gone; without Container, that the sandbox is. The zero value says
// that events come from now on.
type Event struct {
	Container, Sandbox string
	// PodUID is of the pod that the sandbox is for.
	PodUID string
}

// Exec is a command to run in a container.
type Exec struct {
	Command []string
	// Stdin, Stdout and Stderr may be nil. With TTY there is a terminal, and Stderr is not used.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	TTY            bool
	// Resize tells the sizes of the terminal. May be nil.
	Resize <-chan Size
}

// Size is that of a terminal, in characters.
type Size struct{ Width, Height uint16 }

// Stats are what a container has used since it was started.
type Stats struct {
	Container, Sandbox string
	// CPU is time on all CPUs together. MemoryBytes is what it holds now.
	CPU         time.Duration
	MemoryBytes int64
	At          time.Time
}

// RemoveAll removes all sandboxes. It goes on after errors, and returns them.
func RemoveAll(ctx context.Context, from Sandboxes) error {
	all, err := from.ListPodSandboxes(ctx)
	for _, s := range all {
		err = errors.Join(err, from.RemovePodSandbox(ctx, s.ID))
	}
	return err
}
