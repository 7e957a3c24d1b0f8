package fake

import (
	"runtime"
	"time"
)

// The parts of the second within which Close is done.
const (
	notice = 100 * time.Millisecond // for a request that waits to see that its client has gone
	grace  = 400 * time.Millisecond // for requests that end by themselves
	settle = 400 * time.Millisecond // for those that were broken off
)

// wait waits until done reports true or until the limit, and returns whether it did. It looks again
// and again, as http.Server.Shutdown does: anything that could wake it, a channel or a WaitGroup,
// would belong to one synctest bubble, and what it waits for may live in another or in none.
func (f *inflight) wait(limit time.Duration, done func() bool) bool {
	look := func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return done()
	}
	for range 100 { // most things end at once
		if look() {
			return true
		}
		runtime.Gosched()
	}
	for pause := 50 * time.Microsecond; limit > 0; pause = min(2*pause, 10*time.Millisecond) {
		<-time.After(pause)
		limit -= pause
		if look() {
			return true
		}
	}
	return false
}

// Close ends the server: its port is closed, connections are cut, stalled requests come to an end,
// and its goroutines are gone when Close returns. Requests in progress get a moment to finish; a
// handler that hangs or a response body that was never closed is cut off within a second, and the
// log of the test of [NewTestServer] names it. Close may be called more than once.
func (s *Server) Close() {
	s.closing.Do(func() {
		f := &s.inflight
		f.mu.Lock()
		f.closed = true // which lets no further request in
		f.mu.Unlock()
		s.journal.close()
		s.loopback.close(false)
		if !f.wait(notice, f.awake) {
			f.wake()
		}
		quiet := f.wait(grace, f.quiet)
		s.loopback.close(true)
		if !quiet {
			f.breakOff()
		}
		f.wait(settle, f.idle)
	})
}
