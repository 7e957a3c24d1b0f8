package wire_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/petstore/petstore-go/internal/wire"
)

func TestDefaultTransport(t *testing.T) {
	made := wire.DefaultTransport()
	assert.NotNil(t, made.OnProxyConnectResponse)
	assert.Equal(t, 64, made.MaxIdleConns)
	assert.Equal(t, 64, made.MaxIdleConnsPerHost, "all connections are to one host")
	assert.EqualValues(t, 1<<20, made.MaxResponseHeaderBytes)
	assert.Equal(t, &http.HTTP2Config{
		SendPingTimeout: 15 * time.Second, PingTimeout: 15 * time.Second, WriteByteTimeout: 15 * time.Second,
	}, made.HTTP2, "or a connection that a firewall dropped fails calls for a quarter of an hour")
}

func TestNewTransportUnwraps(t *testing.T) {
	var self unwrapping
	self.base = &self // a transport may return itself
	assert.Equal(t, wire.Transport{}, wire.NewTransport(&self))
	once, twice := unwrapping{base: new(http.Transport)}, unwrapping{base: unwrapping{base: new(http.Transport)}}
	assert.NotEqual(t, wire.Transport{}, wire.NewTransport(once))
	assert.Equal(t, wire.NewTransport(once), wire.NewTransport(twice))
	assert.NotEqual(t, wire.NewTransport(once), wire.NewTransport(new(http.Transport)))
}

// Which hooks were called before a request failed decides whether it may have been sent.
func TestMayHaveSentByHooks(t *testing.T) {
	dial := &net.OpError{Op: "dial", Err: errors.New("refused")}
	connect := func(r *http.Request) {
		hooks := httptrace.ContextClientTrace(r.Context())
		hooks.GetConn("")
		hooks.GotConn(httptrace.GotConnInfo{})
	}
	asks := func(r *http.Request) { httptrace.ContextClientTrace(r.Context()).GetConn("") }
	none := func(*http.Request) {}
	for _, c := range []struct {
		name, method string
		before       func(*http.Request)
		err          error
		want         bool
	}{
		{"a read on a connection", http.MethodGet, connect, dial, true},
		{"a read without a connection", http.MethodGet, none, dial, false},
		{"a read that waited for a connection", http.MethodGet, asks, context.DeadlineExceeded, false},
		{"a write that ended before it asked for a connection", http.MethodPost, none, context.Canceled, false},
		{"a write that ended before it got a connection", http.MethodPost, asks, context.DeadlineExceeded, false},
		{"a write without a body that could not connect", http.MethodDelete, none, dial, false},
		{"another one", http.MethodPut, none, dial, false},
		{"one that asked for a connection", http.MethodPut, asks, context.DeadlineExceeded, false},
		{"one that failed for an unknown reason", http.MethodPut, none, errors.New("?"), true},
	} {
		sends := roundTripper(func(r *http.Request) (*http.Response, error) { c.before(r); return nil, c.err })
		o := newClient(t, "https://service.test/v1", unwrapping{sends, new(http.Transport)}).send(t, c.method)
		assert.Equal(t, c.want, o.sent, c.name)
	}
	o := newClient(t, "unknown://service.test/v1", &http.Transport{}).send(t, http.MethodPost)
	assert.False(t, o.sent, "the body was not read")
}
