package fake

import (
	"sync/atomic"
	"time"
)

// clock is the server's time: a source and how far Advance has moved away from it.
type clock struct {
	source func() time.Time // nil stands for time.Now
	offset atomic.Int64
}

func (c *clock) now() time.Time {
	offset := time.Duration(c.offset.Load())
	if c.source == nil {
		return time.Now().Add(offset)
	}
	return c.source().Add(offset)
}

// ceilUnix returns the first whole second that is not before t, as Unix time. Rounding up is what
// makes it safe for a client to come back at the moment it was told.
func ceilUnix(t time.Time) int64 {
	sec := t.Unix()
	if t.Nanosecond() > 0 {
		sec++
	}
	return sec
}
