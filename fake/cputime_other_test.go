//go:build !unix

package fake_test

import "time"

// cpuTime is not to be had here.
func cpuTime() time.Duration { return 0 }
