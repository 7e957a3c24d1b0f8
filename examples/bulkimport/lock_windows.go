package main

import (
	"os"
	"syscall"
)

// lock keeps others from opening a file beside f until the process ends.
func lock(f *os.File) error {
	name, _ := syscall.UTF16PtrFromString(f.Name() + ".lock")
	_, err := syscall.CreateFile(name, syscall.GENERIC_READ, 0, nil, syscall.OPEN_ALWAYS, 0, 0)
	return err
}
