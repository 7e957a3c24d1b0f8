//go:build unix

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// lock locks a file until it is closed, however that comes about.
func lock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }
