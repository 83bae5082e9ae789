package parts

import (
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed3bce33ad/listwatch/examples/runtime/process"
)

// Names of parts. The kubelet of a node has the name of its node: see [Settings.NodeNames].
const (
	APIServer         = "apiserver"
	ControllerManager = "controllermanager"
	Scheduler         = "scheduler"
	Proxy             = "proxy"
	Hollow            = "hollow"
)

// Settings are what the parts of a cluster agree on. Dir must be set.
type Settings struct {
	// Dir is where all is kept: etcd's data, keys and kubeconfigs, and what nodes have.
	Dir string
	// Listen is the address of the API server. Port 0 is a free one at first, and the same ever after.
	Listen string
	// Nodes is how many nodes run processes, and Hollow how many only pretend.
	Nodes, Hollow int
	// Plain leaves out what needs root: networks and other namespaces of pods, and cgroups.
	Plain bool
	// Heartbeat is how long a node is believed in that is not heard of. Defaults to 40 s.
	Heartbeat time.Duration
	// ServiceIPs is where services get their addresses from. [Prepare] sets it.
	ServiceIPs netip.Prefix
	// Missing is what the kernel or the user's rights don't allow, in words. [Prepare] sets it.
	Missing []string
}

// maxNodes is how many nodes there can be: each has its part of the range of pods' addresses.
const maxNodes = 200

// Prepare completes settings, by looking what this process may do. It returns an error when they make no sense.
func Prepare(s Settings) (Settings, error) {
	dir, err := filepath.Abs(s.Dir)
	if err != nil || s.Dir == "" || s.Nodes < 0 || s.Nodes > maxNodes || s.Hollow < 0 || s.Heartbeat < 0 {
		return s, errors.Join(err, fmt.Errorf("there must be a directory and up to %d nodes, and nothing is negative", maxNodes))
	}
	s.Dir = dir
	if s.Listen == "" {
		s.Listen = "127.0.0.1:0"
	}
	if s.Heartbeat == 0 {
		s.Heartbeat = 40 * time.Second
	}
	tried, err := process.New(s.runtime(1))
	if err != nil {
		return s, err
	}
	s.ServiceIPs, s.Missing = netip.MustParsePrefix("127.96.0.0/16"), tried.Missing()
	if tried.Networked() {
		s.ServiceIPs = netip.MustParsePrefix("10.96.0.0/16")
	}
	return s, tried.Close()
}

// NodeNames returns the names of the nodes that run processes.
func (s Settings) NodeNames() []string {
	names := make([]string, s.Nodes)
	for i := range names {
		names[i] = fmt.Sprintf("node%d", i+1)
	}
	return names
}

// Names returns the names of all parts, in the order in which they are started.
func (s Settings) Names() []string {
	names := append([]string{APIServer, ControllerManager, Scheduler, Proxy}, s.NodeNames()...)
	if s.Hollow > 0 {
		names = append(names, Hollow)
	}
	return names
}

// Kubeconfig is the file by which a user reaches the API server: "admin", or the name of a part but for the API server.
func (s Settings) Kubeconfig(name string) string {
	switch {
	case name == ControllerManager:
		name = "controller-manager"
	case name == Hollow:
		name = "admin" // it is many nodes at once
	case s.number(name) > 0:
		name = "kubelet-" + name
	}
	return s.pki(name + ".kubeconfig")
}

func (s Settings) pki(file string) string { return filepath.Join(s.Dir, "pki", file) }

// number is that of a node; 0 when there is none of that name.
func (s Settings) number(node string) int {
	var n int
	if rest, ok := strings.CutPrefix(node, "node"); ok {
		if _, err := fmt.Sscan(rest, &n); err != nil || fmt.Sprint(n) != rest || n > s.Nodes {
			return 0
		}
	}
	return n
}

// runtime is how the containers of a node are run.
func (s Settings) runtime(node int) process.Options {
	return process.Options{
		Dir: filepath.Join(s.Dir, fmt.Sprint("n", node)), ImageDir: filepath.Join(s.Dir, "images"), Plain: s.Plain,
		CIDR:         netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 244, byte(node), 0}), 24),
		LoopbackCIDR: netip.PrefixFrom(netip.AddrFrom4([4]byte{127, 244, byte(node), 0}), 24),
	}
}
