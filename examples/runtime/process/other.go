//go:build !linux

package process

import (
	"errors"
	"net/netip"

	"github.com/seed3bce33ad/listwatch/examples/runtime"
)

// Options say where a runtime keeps what, and what it gives to pods. They are described where they are used, for Linux.
type Options struct {
	Dir                string
	CIDR, LoopbackCIDR netip.Prefix
	ImageDir           string
	Plain              bool
}

// Runtime can't be had on this system.
type Runtime struct {
	runtime.Service
	runtime.Images
}

// New returns an error: a Runtime needs Linux.
func New(Options) (*Runtime, error) { return nil, errors.New("process: containers need Linux") }

// CIDR returns the prefix that pods get their addresses from.
func (*Runtime) CIDR() netip.Prefix { return netip.Prefix{} }

// Networked tells whether pods have networks of their own.
func (*Runtime) Networked() bool { return false }

// Missing names what the kernel or the user's rights do not allow.
func (*Runtime) Missing() []string { return []string{"Linux"} }

// Close does nothing.
func (*Runtime) Close() error { return nil }

// Reexec does nothing: only on Linux are there processes that are this program under another name.
func Reexec() {}

// SetUpLoopback returns an error: networks of tests are made on Linux.
func SetUpLoopback() error { return errors.New("process: networks need Linux") }
