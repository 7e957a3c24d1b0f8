package fake

import (
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
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

// follow notes the state of a part. If the server is closed, it closes a new part.
func (f *inflight) follow(c io.Closer, state http.ConnState) (open bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, here := f.parts[c]
	switch {
	case state == http.StateClosed, state == http.StateHijacked:
		delete(f.parts, c)
	case f.closed.Load() && !here:
		_ = c.Close()
		return false
	default:
		f.parts[c] = state == http.StateActive
	}
	return true
}

// Close ends the server. Requests in progress get a moment to finish; then Close closes the port
// and all connections, which also ends stalled requests. It returns within a second. By then, the
// goroutines of the server have ended, except in a Match or a handler that hangs. Requests of
// [Server.ServeHTTP] end with the server in which they run. Close may be called more than once.
func (s *Server) Close() {
	f := &s.inflight
	f.closed.Store(true)
	s.journal.wake()
	waitUntilNone(f.busy)
	for _, c := range f.all() {
		abort(c)
	}
	waitUntilNone(f.all)
}

// all returns the parts that have not ended.
func (f *inflight) all() []io.Closer {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(maps.Keys(f.parts))
}

// busy returns the parts with a request in progress.
func (f *inflight) busy() []io.Closer {
	all := f.all()
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(all, func(c io.Closer) bool { return !f.parts[c] })
}

// waitUntilNone waits until parts returns none, but no longer than the grace. It polls, as
// http.Server.Shutdown does: a channel or a WaitGroup would belong to one synctest bubble, and the
// parts may live in another bubble, or in none.
func waitUntilNone(parts func() []io.Closer) {
	interval := 50 * time.Microsecond
	for left := grace; left > 0 && len(parts()) > 0; left -= interval {
		time.Sleep(interval)
		interval = min(2*interval, 10*time.Millisecond)
	}
}

type closedError struct{}

func (closedError) Error() string { return "fake: the server is closed" }

// Unwrap makes the error match net.ErrClosed and syscall.ECONNREFUSED. It also matches a
// net.DNSError of a host that does not exist, after which a petstore.Client does not try again.
func (closedError) Unwrap() []error {
	return []error{net.ErrClosed, syscall.ECONNREFUSED, &net.DNSError{Err: "no such host", IsNotFound: true}}
}
