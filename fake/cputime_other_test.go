//go:build !unix

package fake_test

import "time"

// cpuTime returns 0: the system does not tell it.
func cpuTime() time.Duration { return 0 }
