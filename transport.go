package petstore

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/petstore/petstore-go/internal/wire"
)

// transport sends the requests of a client, and of the clients that its ForKey made.
type transport struct {
	// roundTrip is a function, because a dump prints nothing of what a function refers to. A field
	// with the http.RoundTripper would lead a dump to connections, whose buffers contain the key.
	roundTrip func(*http.Request) (*http.Response, error)
	closeIdle []func() // CloseIdleConnections of each transport that is not the caller's
	// suspectIdle is set when a request on a reused connection got no response. The other idle
	// connections may be dead, too. So the next attempt closes them all, unless they are those of
	// WithHTTPClient, and dials a new one.
	suspectIdle atomic.Bool
	http1       atomic.Bool // the last response came over HTTP/1
}

// newTransport returns the transport that the options WithHTTPClient and WithTransport choose.
func (c *config) newTransport() (*transport, error) {
	t := &transport{}
	inner := c.transport
	if inner == nil {
		own := wire.DefaultTransport()
		t.closeIdle = append(t.closeIdle, own.CloseIdleConnections)
		inner = own
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

// closeSuspects closes the idle connections if they may be dead. All clients of ForKey share them.
func (t *transport) closeSuspects(ctx context.Context) {
	if !t.suspectIdle.Swap(false) {
		return
	}
	// An HTTP/2 connection becomes idle a moment after its last request failed. If a millisecond is
	// too short once, the next failure closes the connection.
	select {
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

// givesBody reports whether a request gets a body, perhaps an empty one. net/http never repeats a
// request that has a body and no GetBody. Without a body, net/http would repeat a write after a
// PROTOCOL_ERROR of HTTP/2, although the server may have carried it out. Over HTTP/1, it would send
// a GET again for each idle connection that fails, without another permit. With a transport of the
// caller, net/http may do so: the client must not close the idle connections of this transport, so
// all attempts of a call might fail on dead connections.
//
// Over HTTP/1, net/http does not send the empty body of a GET or DELETE. It would send the empty
// body of any other method in chunks, which few servers expect. So these methods get no empty body,
// once a response has shown that the service speaks HTTP/1.
func (t *transport) givesBody(method string, body []byte) bool {
	isHTTP1 := t.http1.Load()
	switch {
	case body != nil, method == http.MethodDelete:
		return true
	case method != http.MethodGet: // a write
		return !isHTTP1
	}
	return isHTTP1 && len(t.closeIdle) > 0
}
