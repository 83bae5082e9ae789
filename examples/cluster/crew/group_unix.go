//go:build unix

package crew

import "syscall"

// ownGroup keeps signals of the terminal from a process.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
