package fake

import (
	"io"
	"net/http"
	"time"
)

// grace is how long Close waits for requests to end by themselves, and then again for the requests
// that it cut off. Both waits together take less than a second.
const grace = 400 * time.Millisecond

// follow notes the state of a connection or of the port. Once the server is closed, it closes each
// new one.
func (s *Server) follow(c io.Closer, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, here := s.parts[c]
	switch {
	case state == http.StateClosed, state == http.StateHijacked:
		delete(s.parts, c)
	case s.closed.Load() && !here:
		_ = c.Close()
	default:
		s.parts[c] = state == http.StateActive
	}
}

// Close ends the server. Requests in progress get a moment to finish; then Close closes the port
// and all connections, which also ends stalled requests. It returns within a second. By then, the
// goroutines of the server have ended, except in a Match or a handler that hangs. Requests of
// [Server.ServeHTTP] end with the server in which they run. Close may be called more than once.
func (s *Server) Close() {
	s.closed.Store(true)
	s.wake()
	s.waitForParts(true)
	for _, c := range s.openParts(false) {
		abort(c)
	}
	s.waitForParts(false)
}

// openParts returns the parts that have not ended or, with busy, those with a request in progress.
func (s *Server) openParts(busy bool) (parts []io.Closer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c, active := range s.parts {
		if active || !busy {
			parts = append(parts, c)
		}
	}
	return parts
}

// waitForParts waits until openParts returns none, but no longer than the grace. It polls, as
// http.Server.Shutdown does: a channel or a WaitGroup would belong to one synctest bubble, and the
// parts may live in another bubble, or in none.
func (s *Server) waitForParts(busy bool) {
	interval := 50 * time.Microsecond
	for left := grace; left > 0 && len(s.openParts(busy)) > 0; left -= interval {
		time.Sleep(interval)
		interval = min(2*interval, 10*time.Millisecond)
	}
}
