//go:build !linux

package proxy

import (
	"errors"
	"net/netip"
)

// makeLocal needs Linux.
func makeLocal(netip.Prefix) (undo func() error, err error) {
	return nil, errors.ErrUnsupported
}
