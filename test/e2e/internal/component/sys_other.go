//go:build !linux

package component

import "syscall"

// attributes make a command the leader of a process group.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
