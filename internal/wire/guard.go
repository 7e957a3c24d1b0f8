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

// Abandoned reports whether an operation has not returned; false for nil.
func (g *Guard) Abandoned() bool { return g != nil && g.abandoned.Load() }

// RoundTrip sends r, which has the context of g. The body of the response is guarded, too.
func (g *Guard) RoundTrip(send func(*http.Request) (*http.Response, error), r *http.Request) (*http.Response, error) {
	g.ctx = r.Context()
	resp, err := await(g, func() (*http.Response, error) {
		resp, err := CheckResponse(send(r))
		if err == nil && g.Abandoned() {
			_ = resp.Body.Close() // nobody reads it
		}
		return resp, err
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
	return await(b.guard, func() (int, error) { return b.body.Read(p) })
}

func (b *guardedBody) Close() error {
	if b.guard.Abandoned() {
		return nil
	}
	_, err := await(b.guard, func() (struct{}, error) { return struct{}{}, b.body.Close() })
	return err
}

// await returns what f returns, or the error of the context if f does not return soon after that
// has ended. A panic in f reaches the caller.
func await[T any](g *Guard, f func() (T, error)) (T, error) {
	type result struct {
		value    T
		err      error
		panicked any
	}
	done := make(chan result, 1)
	go func() {
		r := result{err: errNothing} // if f ends the goroutine
		defer func() {
			r.panicked = recover()
			done <- r
		}()
		r.value, r.err = f()
	}()
	var r result
	select {
	case r = <-done:
	case <-g.ctx.Done():
		select {
		case r = <-done:
		case <-time.After(guardGrace):
			g.abandoned.Store(true)
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
	_, _ = await(&Guard{ctx: ctx}, func() (struct{}, error) { f(); return struct{}{}, nil })
}
