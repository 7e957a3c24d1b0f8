package fake

import (
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// grace is how long Close waits for requests to end by themselves, and then again for the requests
// that it cut off. Both waits together take less than a second.
const grace = 400 * time.Millisecond

// inflight holds everything that must have ended when Close returns.
type inflight struct {
	closed atomic.Bool
	mu     sync.Mutex
	parts  map[io.Closer]bool // the port and the connections; true if a request is in progress
}

// follow notes the state of a connection or of the port. Once the server is closed, it closes each
// new one.
func (f *inflight) follow(c io.Closer, state http.ConnState) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, here := f.parts[c]
	switch {
	case state == http.StateClosed, state == http.StateHijacked:
		delete(f.parts, c)
	case f.closed.Load() && !here:
		_ = c.Close()
	default:
		f.parts[c] = state == http.StateActive
	}
}

// Close ends the server. Requests in progress get a moment to finish; then Close closes the port
// and all connections, which also ends stalled requests. It returns within a second. By then, the
// goroutines of the server have ended, except in a Match or a handler that hangs. Requests of
// [Server.ServeHTTP] end with the server in which they run. Close may be called more than once.
func (s *Server) Close() {
	f := &s.inflight
	f.closed.Store(true)
	s.wake()
	f.wait(true)
	for _, c := range f.open(false) {
		abort(c)
	}
	f.wait(false)
}

// open returns the parts that have not ended or, with busy, those with a request in progress.
func (f *inflight) open(busy bool) (parts []io.Closer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for c, active := range f.parts {
		if active || !busy {
			parts = append(parts, c)
		}
	}
	return parts
}

// wait waits until open returns none, but no longer than the grace. It polls, as
// http.Server.Shutdown does: a channel or a WaitGroup would belong to one synctest bubble, and the
// parts may live in another bubble, or in none.
func (f *inflight) wait(busy bool) {
	interval := 50 * time.Microsecond
	for left := grace; left > 0 && len(f.open(busy)) > 0; left -= interval {
		time.Sleep(interval)
		interval = min(2*interval, 10*time.Millisecond)
	}
}
