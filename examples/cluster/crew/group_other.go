//go:build !unix

package crew

import "syscall"

// ownGroup would keep signals of the terminal from a process, where there are groups.
func ownGroup() *syscall.SysProcAttr { return nil }
