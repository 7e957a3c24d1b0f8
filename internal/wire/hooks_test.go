package wire_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/internal/wire"
)

func TestMayUseHTTP2(t *testing.T) {
	var plain http.Transport
	var self unwrapping
	self.base = &self
	for _, c := range []struct {
		transport http.RoundTripper
		url       string
		want      bool
	}{
		{&plain, "https://service.test", true},
		{&plain, "http://service.test", false},
		{unwrapping{base: unwrapping{base: &plain}}, "https://service.test", true},
		{roundTripper(plain.RoundTrip), "https://service.test", false},
		{&self, "https://service.test", false},
	} {
		u, err := url.Parse(c.url)
		require.NoError(t, err)
		found := wire.NewTransport(c.transport, false)
		assert.Equal(t, c.want, found.MayUseHTTP2(u), "%T %s", c.transport, c.url)
	}
}

func TestDefaultTransport(t *testing.T) {
	made := wire.DefaultTransport()
	assert.NotNil(t, made.OnProxyConnectResponse)
	assert.Equal(t, 64, made.MaxIdleConns)
	assert.Equal(t, 64, made.MaxIdleConnsPerHost, "all connections are to one host")
	assert.EqualValues(t, 1<<20, made.MaxResponseHeaderBytes)
}

// Whether a request may have been sent, by the hooks that were called before it failed.
func TestMayHaveSentByHooks(t *testing.T) {
	alert := &net.OpError{Op: "remote error", Err: tls.AlertError(42)}
	dial := &net.OpError{Op: "dial", Err: errors.New("refused")}
	connect := func(reused bool) func(*http.Request) {
		return func(r *http.Request) {
			hooks := httptrace.ContextClientTrace(r.Context())
			hooks.GetConn("")
			hooks.GotConn(httptrace.GotConnInfo{Reused: reused})
		}
	}
	proxied := &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: "proxy.test"})}
	for _, c := range []struct {
		name, method string
		before       func(*http.Request)
		err          error
		want         bool
	}{
		{"a read on a connection", http.MethodGet, connect(false), dial, true},
		{"a read without a connection", http.MethodGet, func(*http.Request) {}, dial, false},
		{"a write that ended before it asked for a connection", http.MethodPost, func(*http.Request) {}, context.Canceled, false},
		{"a write that ended before it got a connection", http.MethodPost, func(r *http.Request) {
			httptrace.ContextClientTrace(r.Context()).GetConn("")
		}, context.DeadlineExceeded, false},
		{"a handshake refused on a new connection", http.MethodPost, connect(false), alert, false},
		{"an alert on a used connection", http.MethodPost, connect(true), alert, true},
	} {
		sends := roundTripper(func(r *http.Request) (*http.Response, error) { c.before(r); return nil, c.err })
		o := newClient(t, "https://service.test/v1", unwrapping{sends, proxied}, false).send(t, c.method)
		assert.Equal(t, c.want, o.sent, c.name)
	}
	for _, own := range []bool{false, true} { // the user may register a protocol
		o := newClient(t, "unknown://service.test/v1", &http.Transport{}, own).send(t, http.MethodPost)
		assert.Equal(t, !own, o.sent, "own: %v", own)
	}
}

func TestGuard(t *testing.T) {
	boom := errors.New("boom")
	for name, c := range map[string]struct {
		after     time.Duration // the end of the context
		fails     error
		want      error
		abandoned bool
	}{
		"fails soon":        {49 * time.Millisecond, boom, boom, false},
		"fails too late":    {51 * time.Millisecond, boom, context.DeadlineExceeded, true},
		"responds too late": {time.Second, nil, context.DeadlineExceeded, true},
		"its body hangs":    {-time.Second, nil, nil, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			var g wire.Guard
			body := &stuckBody{}
			resp, err := g.RoundTrip(func(*http.Request) (*http.Response, error) {
				time.Sleep(time.Minute + c.after) // of synctest
				return &http.Response{StatusCode: http.StatusOK, Body: body}, c.fails
			}, (&http.Request{}).WithContext(ctx))
			require.ErrorIs(t, err, c.want, name)
			assert.Equal(t, c.abandoned, g.Abandoned(), name)
			if err == nil {
				_, err = resp.Body.Read(make([]byte, 1))
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.NoError(t, resp.Body.Close())
				assert.False(t, body.closed, "Close could hang, too")
			}
			time.Sleep(time.Hour)
			synctest.Wait()
			assert.Equal(t, name == "responds too late", body.closed, name)
		})
	}
	r, body := (&http.Request{}).WithContext(t.Context()), &stuckBody{}
	resp, err := new(wire.Guard).RoundTrip(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Body: body}, nil
	}, r)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	assert.True(t, body.closed)
	_, err = new(wire.Guard).RoundTrip(func(*http.Request) (*http.Response, error) { runtime.Goexit(); return nil, nil }, r)
	require.EqualError(t, err, "the transport returned neither a response nor an error")
	assert.PanicsWithValue(t, "boom", func() {
		_, _ = new(wire.Guard).RoundTrip(func(*http.Request) (*http.Response, error) { panic("boom") }, r)
	})
}

// stuckBody is a body whose Read returns only after an hour.
type stuckBody struct{ closed bool }

func (b *stuckBody) Read([]byte) (int, error) { time.Sleep(time.Hour); return 0, io.EOF }
func (b *stuckBody) Close() error             { b.closed = true; return nil }
