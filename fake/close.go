package fake

import (
	"context"
	"fmt"
	"maps"
	"net"
	"runtime"
	"sync"
	"time"

	"github.com/petstore/petstore-go/internal/link"
)

// errClosed is the error of a request that was still waiting when the server closed.
var errClosed = fmt.Errorf("fake: the server is closed: %w", net.ErrClosed)

// The parts of the second within which Close is done.
const (
	notice = 100 * time.Millisecond // for a request that waits to see that its client has gone
	grace  = 400 * time.Millisecond // for requests that end by themselves
	settle = 400 * time.Millisecond // for those that were broken off
)

// inflight has all that must have ended when Close returns.
type inflight struct {
	mu     sync.Mutex
	closed bool
	// parts are the requests in progress, those that wait, the requests of HTTPClient whose body is
	// open, the connections and the port. False stands for a socket without a request, which Close
	// need not wait for.
	parts  map[any]bool
	panics []string
	leaks  []string // what Close had to break off
}

// enter adds a part that is in progress. If the server is closed, it reports false and does
// nothing.
func (f *inflight) enter(part any) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.parts[part] = true
	}
	return !f.closed
}

func (f *inflight) leave(part any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.parts, part)
}

// has reports whether there is a part of a kind.
func (f *inflight) has(kind func(part any, busy bool) bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for part, busy := range f.parts {
		if kind(part, busy) {
			return true
		}
	}
	return false
}

func isWait(part any, _ bool) bool {
	_, ok := part.(*wait)
	return ok
}

func isBusy(_ any, busy bool) bool { return busy }

func isAny(any, bool) bool { return true }

// gone waits until there is no part of a kind or until the limit, and returns whether there is
// none. It looks again and again, as http.Server.Shutdown does: anything that could wake it, a
// channel or a WaitGroup, would belong to one synctest bubble, and what it waits for may live in
// another or in none.
func (f *inflight) gone(limit time.Duration, kind func(any, bool) bool) bool {
	for range 100 { // most things end at once
		if !f.has(kind) {
			return true
		}
		runtime.Gosched()
	}
	for pause := 50 * time.Microsecond; limit > 0; pause = min(2*pause, 10*time.Millisecond) {
		<-time.After(pause)
		limit -= pause
		if !f.has(kind) {
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
		if !f.gone(notice, isWait) {
			f.wake()
		}
		quiet := f.gone(grace, isBusy)
		s.loopback.close(true)
		if !quiet {
			f.breakOff()
		}
		f.gone(settle, isAny)
	})
}

// wake ends the wait of every request that waits, and notes each as a leak.
func (f *inflight) wake() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for p := range f.parts {
		if w, ok := p.(*wait); ok {
			f.leaks = append(f.leaks, "a request was still waiting for its response: "+w.by.String())
			close(w.quit)
		}
	}
}

// breakOff ends what is still in progress, and notes it as a leak.
func (f *inflight) breakOff() {
	f.mu.Lock()
	parts := maps.Clone(f.parts)
	for p := range parts {
		switch p := p.(type) {
		case *exchange:
			f.leaks = append(f.leaks, "a request was still being handled: "+p.String())
		case *delivery:
			if p.responded.Load() {
				f.leaks = append(f.leaks, "a response body was never closed: "+p.String())
			}
		}
	}
	f.mu.Unlock()
	for p := range parts {
		switch p := p.(type) {
		case *delivery:
			p.cancel(errClosed)
			p.end()
		case *link.Link:
			p.Reset()
		}
	}
}

type wait struct {
	by   *exchange
	quit chan struct{} // closed if the server closes
}

// pause waits for d, or for ever if d is negative. If the client gives up or the server closes, it
// ends early, and returns an error that says so. The channels are made here and not with the
// server: while a bubble waits on a channel from outside, its time does not pass.
func (x *exchange) pause(d time.Duration) error {
	if d == 0 {
		return nil
	}
	w := &wait{x, make(chan struct{})}
	if !x.srv.inflight.enter(w) {
		return errClosed
	}
	defer x.srv.inflight.leave(w)
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
	case <-w.quit:
		return errClosed
	}
}
