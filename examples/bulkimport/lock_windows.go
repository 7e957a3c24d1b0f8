package main

import (
	"os"
	"syscall"
	"unsafe"
)

// lock locks f until it is closed or the process ends: a byte far behind its end, since nobody can
// read what is locked.
func lock(f *os.File) error {
	at := syscall.Overlapped{OffsetHigh: 1 << 30}
	const exclusivelyAtOnce = 3
	locked, _, err := syscall.NewLazyDLL("kernel32.dll").NewProc("LockFileEx").Call(
		f.Fd(), exclusivelyAtOnce, 0, 1, 0, uintptr(unsafe.Pointer(&at)))
	if locked == 0 {
		return err
	}
	return nil
}
