package fake

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"
)

// grace is how long Close waits for requests to end by themselves, and then again for those that it
// broke off. Both waits together take less than a second.
const grace = 400 * time.Millisecond

// inflight holds everything that must have ended when Close returns.
type inflight struct {
	mu     sync.Mutex
	closed bool
	parts  map[any]*part // requests, waits, connections and the port
	panics []string
	leaks  []string // what Close had to break off
}

// part is something that has not ended.
type part struct {
	busy     bool          // Close waits for it before it breaks it off
	leak     string        // what Close reports if it breaks it off; empty: nothing
	request  *http.Request // of the leak
	breakOff func()        // nil: it ends by itself
}

// enter adds a part. If the server is closed, it reports false and does nothing.
func (f *inflight) enter(key any, p *part) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.parts[key] = p
	}
	return !f.closed
}

func (f *inflight) leave(key any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.parts, key)
}

// change changes whether Close waits for a part, and what it reports about it.
func (f *inflight) change(key any, to part) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p := f.parts[key]; p != nil {
		p.busy, p.leak, p.request = to.busy, to.leak, to.request
	}
}

// waitUntilGone waits for all parts, or for those that are busy, until the limit. It polls, as
// http.Server.Shutdown does: a channel or a WaitGroup that could wake it would belong to one
// synctest bubble, and the parts may live in another bubble or outside of all.
func (f *inflight) waitUntilGone(limit time.Duration, all bool) {
	waits := func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return slices.ContainsFunc(slices.Collect(maps.Values(f.parts)), func(p *part) bool { return all || p.busy })
	}
	for pause := 50 * time.Microsecond; limit > 0 && waits(); pause = min(2*pause, 10*time.Millisecond) {
		<-time.After(pause)
		limit -= pause
	}
}

// Close ends the server: it closes the port, cuts connections and ends stalled requests. When it
// returns, the goroutines of the server are gone. Requests in progress get a moment to finish; a
// handler that hangs or a response body that was never closed is cut off within a second, and the
// log of the test of [NewTestServer] names it. Close may be called more than once.
func (s *Server) Close() {
	f := &s.inflight
	if !f.close() {
		for !s.closed.Load() { // a second call must not block on a Once: the bubble's time would stop
			<-time.After(time.Millisecond)
		}
		return
	}
	defer s.closed.Store(true)
	s.journal.close()
	f.waitUntilGone(grace, false)
	for _, p := range f.left() {
		if p.breakOff != nil {
			p.breakOff()
		}
	}
	f.waitUntilGone(grace, true)
}

// close makes enter refuse all further parts. It reports whether this is the first call.
func (f *inflight) close() (first bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	first, f.closed = !f.closed, true
	return first
}

// left returns the parts that have not ended, and notes which of them are leaks.
func (f *inflight) left() []*part {
	f.mu.Lock()
	defer f.mu.Unlock()
	parts := slices.Collect(maps.Values(f.parts))
	for _, p := range parts {
		if p.leak != "" { // without the query, which may hold a key
			f.leaks = append(f.leaks, p.leak+": "+p.request.Method+" "+p.request.URL.Path)
		}
	}
	return parts
}

// pause waits for d, or for ever if d is negative. If the client gives up or the server closes, it
// ends early, and returns an error that says so. The channels are made here and not with the
// server: while a bubble waits on a channel from outside, its time does not pass.
func (x *exchange) pause(d time.Duration) error {
	if d == 0 {
		return nil
	}
	quit := make(chan struct{})
	if !x.srv.inflight.enter(quit, &part{breakOff: func() { close(quit) }}) {
		return closedError{}
	}
	defer x.srv.inflight.leave(quit)
	var timeout <-chan time.Time
	if d > 0 {
		timeout = time.After(d)
	}
	ctx := x.req.Context()
	select {
	case <-timeout:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-quit:
		return closedError{}
	}
}
