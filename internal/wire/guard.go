package wire

import (
	"context"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// guardGrace is how long a transport may take to return after the context has ended: one that works
// returns at once, and its error says more than that of the context.
const guardGrace = 50 * time.Millisecond

// Guard ends the operations of a transport with their context, whatever the transport does. A
// server of HTTP/2 can make net/http lock itself up for ever, with a WINDOW_UPDATE of 2^31-1 for a
// stream.
type Guard struct {
	ctx       context.Context // of the attempt
	abandoned atomic.Bool     // an operation goes on, and may still write to what it was given
}

// Abandoned reports whether an operation has not returned.
func (g *Guard) Abandoned() bool { return g.abandoned.Load() }

// RoundTrip sends r, which has the context of g. The body of the response is guarded, too.
func (g *Guard) RoundTrip(send func(*http.Request) (*http.Response, error), r *http.Request) (*http.Response, error) {
	g.ctx = r.Context()
	resp, err := await(g, func() (*http.Response, error) { return CheckResponse(send(r)) }, func(resp *http.Response) {
		if resp != nil {
			_ = resp.Body.Close()
		}
	})
	if err == nil {
		resp.Body = &guardedBody{resp.Body, g}
	}
	return resp, err
}

// guardedBody is the body of a response whose operations end with the context.
type guardedBody struct {
	body  io.ReadCloser
	guard *Guard
}

func (b *guardedBody) Read(p []byte) (int, error) {
	return await(b.guard, func() (int, error) { return b.body.Read(p) }, nil)
}

func (b *guardedBody) Close() error {
	if b.guard.Abandoned() {
		return nil
	}
	_, err := await(b.guard, func() (struct{}, error) { return struct{}{}, b.body.Close() }, nil)
	return err
}

// await returns what f returns, or the error of the context if f does not return soon after that
// has ended. late gets what f returns then. A panic in f reaches the caller.
func await[T any](g *Guard, f func() (T, error), late func(T)) (T, error) {
	type result struct {
		value    T
		err      error
		panicked any
	}
	done, gone := make(chan result), make(chan struct{})
	go func() {
		r := result{err: errNothing} // if f ends the goroutine
		defer func() {
			r.panicked = recover()
			select {
			case done <- r:
			case <-gone:
				if late != nil {
					late(r.value)
				}
			}
		}()
		r.value, r.err = f()
	}()
	var r result
	select {
	case r = <-done:
	case <-g.ctx.Done():
		timer := time.NewTimer(guardGrace)
		defer timer.Stop()
		select {
		case r = <-done:
		case <-timer.C:
			g.abandoned.Store(true)
			close(gone)
			return r.value, g.ctx.Err()
		}
	}
	if r.panicked != nil {
		panic(r.panicked)
	}
	return r.value, r.err
}

// Within waits until f returns, or for d.
func Within(d time.Duration, f func()) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	_, _ = await(&Guard{ctx: ctx}, func() (struct{}, error) { f(); return struct{}{}, nil }, nil)
}
