//go:build unix

package main

import (
	"os"
	"syscall"
)

// lock locks f until it is closed or the process ends.
func lock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }
