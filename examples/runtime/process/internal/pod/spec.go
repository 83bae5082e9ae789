//go:build linux

// Package pod is what runs in the processes of a pod: the pause process, which holds the pod's namespaces and looks
// after its containers, and the short first step of each container and of each command in one. They are this program
// itself, run under another name.
package pod

import (
	"net/netip"
	"time"
)

// The names that this program is run under, by its argument 0.
const (
	PauseName     = "runtime-pause"
	ContainerName = "runtime-container"
	EnterName     = "runtime-enter"
)

// Self is the path of the program that runs.
const Self = "/proc/self/exe"

// Marker is the environment variable that tells which container a process belongs to, and SandboxMarker which sandbox.
const (
	Marker        = "RUNTIME_CONTAINER"
	SandboxMarker = "RUNTIME_SANDBOX"
)

// Sandbox is what a pause process is told when it starts.
type Sandbox struct {
	ID, Hostname string
	// UTS, PID and Mount say which namespaces of its own it has. PID comes with Mount.
	UTS, PID, Mount bool
}

// Network is how the pod's end of its link is set up.
type Network struct {
	Link             string
	Prefix           netip.Prefix
	Address, Gateway netip.Addr
}

// Container is what to run. The files about it are in the directory Dir.
type Container struct {
	ID, Dir string
	// Mount gives it a mount namespace, and Overlay a root that it may write to without changing the image.
	Mount, Overlay bool
	// Root is the directory that is its root; empty for the node's own.
	Root       string
	Args, Env  []string
	WorkingDir string
	Mounts     []Mount
	// Cgroups are directories to enter. OOM is the file that counts the processes that were killed for their memory.
	Cgroups []string
	OOM     string
	// Log is the file that output goes to.
	Log string
}

// Mount shows Host at Path.
type Mount struct {
	Path, Host string
	ReadOnly   bool
}

// Signal is a signal for a container.
type Signal struct {
	Container string
	Signal    int
}

// Usage is what the processes of a container use.
type Usage struct {
	CPU         time.Duration
	MemoryBytes int64
}

// State is what the pause process writes of a container that was started.
type State struct {
	// PID is in the pod's PID namespace.
	PID               int
	Exited            bool
	ExitCode          int
	Reason, Message   string
	Started, Finished time.Time
}

// Enter is a command to run in a container.
type Enter struct {
	Args, Env  []string
	WorkingDir string
	// Namespaces are the files of those to enter, and Mount that of the mount namespace; each may be missing.
	Namespaces []string
	Mount      string
	Cgroups    []string
	TTY        bool
}

// The exit codes of processes that a signal has ended are this and the number of the signal.
const SignalBase = 128

// StartFailed is the exit code of a container that could not be started.
const StartFailed = 128
