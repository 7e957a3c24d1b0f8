package main

import (
	"runtime"
	"syscall"
	"time"
)

// usage is what the process has used since it was started.
type usage struct {
	cpu    time.Duration
	wall   time.Time
	bytes  uint64
	allocs uint64
}

func currentUsage() usage {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return usage{cpuTime(), time.Now(), m.TotalAlloc, m.Mallocs}
}

// cpuTime is user and system time of all threads, the garbage collector's among them.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// sample is a usage per call, in nanoseconds, bytes and allocations.
type sample struct{ cpu, wall, bytes, allocs int64 }

// measure runs n calls and returns what one of them used. Garbage of earlier calls is collected before.
func measure(n int, calls func(n int) error) (sample, error) {
	runtime.GC()
	before := currentUsage()
	err := calls(n)
	after := currentUsage()
	per := func(total int64) int64 { return (total + int64(n)/2) / int64(n) }
	return sample{
		cpu:    per(int64(after.cpu - before.cpu)),
		wall:   per(int64(after.wall.Sub(before.wall))),
		bytes:  per(signed(after.bytes - before.bytes)),
		allocs: per(signed(after.allocs - before.allocs)),
	}, err
}

// signed is n, of which no machine has so many that it would not fit.
func signed(n uint64) int64 { return int64(n) } //nolint:gosec // see above
