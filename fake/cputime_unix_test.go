//go:build unix

package fake_test

import (
	"syscall"
	"time"
)

// cpuTime returns the CPU time that the process has used so far.
func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
