package fake

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/petstore/petstore-go/internal/link"
)

// errClosed is the error of a request that was still waiting when the server closed.
var errClosed = fmt.Errorf("fake: the server is closed: %w", net.ErrClosed)

// inflight has all that must have ended when Close returns.
type inflight struct {
	mu        sync.Mutex
	closed    bool
	exchanges map[fmt.Stringer]bool // requests in progress
	waiting   map[chan struct{}]fmt.Stringer
	calls     map[*call]bool        // requests of HTTPClient whose body is still open
	links     map[*link.Link]bool   // connections in memory
	ports     map[net.Listener]bool // the loopback port while it accepts connections
	sockets   map[net.Conn]bool     // connections of the loopback port, true while one is busy
	panics    []string
	leaks     []string // what Close had to break off
}

func (f *inflight) prepare() {
	f.exchanges = make(map[fmt.Stringer]bool)
	f.waiting = make(map[chan struct{}]fmt.Stringer)
	f.calls = make(map[*call]bool)
	f.links = make(map[*link.Link]bool)
	f.ports = make(map[net.Listener]bool)
	f.sockets = make(map[net.Conn]bool)
}

// enter puts k into one of the maps. If the server is closed, it reports false and does nothing.
func enter[K comparable, V any](f *inflight, set map[K]V, k K, v V) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return false
	}
	set[k] = v
	return true
}

// leave takes k out again.
func leave[K comparable, V any](f *inflight, set map[K]V, k K) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(set, k)
}

func (f *inflight) panicked(what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.panics = append(f.panics, what)
}

// refuse lets no further request in.
func (f *inflight) refuse() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
}

// wake ends the wait of every request that waits, and notes each as a leak.
func (f *inflight) wake() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for quit, x := range f.waiting {
		f.leaks = append(f.leaks, "a request was still waiting for its response: "+x.String())
		close(quit)
	}
}

// awake reports whether no request waits. The caller holds mu.
func (f *inflight) awake() bool { return len(f.waiting) == 0 }

// quiet reports whether no request is in progress. Idle connections may be open. The caller holds
// mu.
func (f *inflight) quiet() bool {
	for _, busy := range f.sockets {
		if busy {
			return false
		}
	}
	return len(f.exchanges)+len(f.calls)+len(f.links) == 0
}

// idle reports whether nothing is left. The caller holds mu.
func (f *inflight) idle() bool { return f.quiet() && len(f.ports)+len(f.sockets) == 0 }

// breakOff ends what is still in progress, and notes it as a leak.
func (f *inflight) breakOff() {
	f.mu.Lock()
	for x := range f.exchanges {
		f.leaks = append(f.leaks, "a request was still being handled: "+x.String())
	}
	calls, links := slices.Collect(maps.Keys(f.calls)), slices.Collect(maps.Keys(f.links))
	for _, c := range calls {
		if c.responded.Load() {
			f.leaks = append(f.leaks, "a response body was never closed: "+c.String())
		}
	}
	f.mu.Unlock()
	for _, c := range calls {
		c.cancel(errClosed)
		c.end()
	}
	for _, l := range links {
		l.Reset()
	}
}

// pause waits for d, or for ever if d is negative. It ends early, and returns an error that says
// so, if ctx ends or the server closes. The channels are made here and not with the server: while a
// bubble waits on a channel from outside, its time does not pass.
func (f *inflight) pause(ctx context.Context, who fmt.Stringer, d time.Duration) error {
	quit := make(chan struct{})
	if !enter(f, f.waiting, quit, who) {
		return errClosed
	}
	defer leave(f, f.waiting, quit)
	var timeout <-chan time.Time
	if d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		timeout = t.C
	}
	select {
	case <-timeout:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-quit:
		return errClosed
	}
}
