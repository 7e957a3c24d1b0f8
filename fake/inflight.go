package fake

import (
	"context"
	"fmt"
	"maps"
	"net"
	"sync"
	"time"

	"github.com/petstore/petstore-go/internal/link"
)

// errClosed is the error of a request that was still waiting when the server closed.
var errClosed = fmt.Errorf("fake: the server is closed: %w", net.ErrClosed)

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

// awake reports whether no request waits. The caller holds mu.
func (f *inflight) awake() bool {
	for p := range f.parts {
		if _, ok := p.(*wait); ok {
			return false
		}
	}
	return true
}

// quiet reports whether nothing is in progress. Idle connections may be open. The caller holds mu.
func (f *inflight) quiet() bool {
	for _, busy := range f.parts {
		if busy {
			return false
		}
	}
	return true
}

// idle reports whether nothing is left. The caller holds mu.
func (f *inflight) idle() bool { return len(f.parts) == 0 }

// breakOff ends what is still in progress, and notes it as a leak.
func (f *inflight) breakOff() {
	f.mu.Lock()
	parts := maps.Clone(f.parts)
	for p := range parts {
		switch p := p.(type) {
		case *exchange:
			f.leaks = append(f.leaks, "a request was still being handled: "+p.String())
		case *call:
			if p.responded.Load() {
				f.leaks = append(f.leaks, "a response body was never closed: "+p.String())
			}
		}
	}
	f.mu.Unlock()
	for p := range parts {
		switch p := p.(type) {
		case *call:
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
		t := time.NewTimer(d)
		defer t.Stop()
		timeout = t.C
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
