package petstore

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/petstore/petstore-go/internal/wire"
)

// transport sends the requests of a client, and of the clients that its ForKey made.
type transport struct {
	// roundTrip is a function so that no dump can print the variables that it closes over: they
	// lead to connections whose buffers contain the key.
	roundTrip func(*http.Request) (*http.Response, error)
	closeIdle []func() // of the transports that do not belong to the caller
	// suspectIdle says that a connection that had been used before brought no response. The other
	// idle connections may be dead, too: the next attempt closes them, and dials.
	suspectIdle atomic.Bool
	http1       atomic.Bool // the last response came over HTTP/1
}

// newTransport returns the transport that the options WithHTTPClient and WithTransport choose.
func (c *config) newTransport() (*transport, error) {
	t := &transport{}
	var inner http.RoundTripper
	if c.httpClient == nil {
		own := wire.DefaultTransport()
		t.closeIdle = append(t.closeIdle, own.CloseIdleConnections)
		inner = own
	} else {
		inner = cmp.Or(c.httpClient.Transport, http.DefaultTransport)
	}
	for _, wrap := range c.wraps {
		outer := wrap(inner)
		if outer == nil {
			return nil, &ArgumentError{"NewClient", "WithTransport", "returned nil"}
		}
		clone, ok := outer.(*http.Transport)
		if ok && outer != inner {
			t.closeIdle = append(t.closeIdle, clone.CloseIdleConnections)
		}
		inner = outer
	}
	t.roundTrip = inner.RoundTrip
	return t, nil
}

// closeSuspects closes all idle connections, also those of other keys, if they may be dead.
func (t *transport) closeSuspects(ctx context.Context) {
	if !t.suspectIdle.Swap(false) {
		return
	}
	select { // a stream of HTTP/2 ends a moment after its request
	case <-time.After(time.Millisecond):
	case <-ctx.Done():
	}
	t.closeIdleConnections()
}

func (t *transport) closeIdleConnections() {
	for _, closeIdle := range t.closeIdle {
		closeIdle()
	}
}

// connectionState is what net/http reports about the connection of a request.
type connectionState struct{ asked, got, reused, answered atomic.Bool }

func (s *connectionState) hooks() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GetConn: func(string) { s.asked.Store(true) },
		GotConn: func(info httptrace.GotConnInfo) {
			// The connection of httputil.DumpRequestOut has no address: nothing is sent on it.
			isReal := info.Conn == nil || info.Conn.RemoteAddr() != nil
			s.asked.Store(isReal)
			s.got.Store(isReal || s.got.Load())
			s.reused.Store(info.Reused)
		},
		GotFirstResponseByte: func() { s.answered.Store(true) },
	}
}

// mayBeWritten reports whether a request may have been written although the transport returned err.
// It may if the transport got a connection. If the transport asked for none, it is not one of
// net/http: then only the error can say that nothing was written.
func (s *connectionState) mayBeWritten(err error) bool {
	switch {
	case wire.IsUnprocessed(err):
		return false
	case s.got.Load() || s.asked.Load():
		return s.got.Load()
	}
	return !errors.Is(err, ErrNotSent) && !wire.IsDial(err)
}

// isDead reports whether nothing came back on a connection that had been used before.
func (s *connectionState) isDead() bool { return s.reused.Load() && !s.answered.Load() }
