package wire

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Over HTTP/2, net/http calls the hooks of one request from two goroutines.
func TestRepetition(t *testing.T) {
	seenThrough, wrapper := &Transport{traceable: true}, new(Transport)
	for _, c := range []struct {
		name string
		// hooks are the calls of hooks: c for a connection (C for one of TCP, S for one of TLS), w for a
		// header that is written, r for the first byte of a response, i for an interim response.
		hooks     string
		transport *Transport
		repeated  bool
	}{
		{"sees a second request without a response to the first", "cwc", wrapper, true},
		{"allows a request of a transport after a response", "cwrcwr", wrapper, false},
		{"allows one after a response that came before the hook of the header", "crwcrwcwr", wrapper, false},
		{"sees a repetition after such a response", "crwcwc", wrapper, true},
		{"sees a repetition after interim responses", "cwriic", wrapper, true},
		{"sees one over what may be HTTP/2 without TLS", "CwriC", wrapper, true},
		{"allows a request after an interim response over HTTP/1", "SwriS", wrapper, false},
		{"allows a connection in place of one on which nothing was written", "ccwr", wrapper, false},
		{"allows one over HTTP/1 without TLS", "CwriC", seenThrough, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var w Record
			ctx, cancel := context.WithCancel(t.Context())
			hooks := httptrace.ContextClientTrace(w.Watch(ctx, cancel, c.transport))
			for _, hook := range c.hooks {
				map[rune]func(){
					'c': func() { hooks.GotConn(httptrace.GotConnInfo{}) },
					'C': func() { hooks.GotConn(httptrace.GotConnInfo{Conn: new(net.TCPConn)}) },
					'S': func() { hooks.GotConn(httptrace.GotConnInfo{Conn: tls.Client(nil, new(tls.Config))}) },
					'w': hooks.WroteHeaders, 'r': hooks.GotFirstResponseByte,
					'i': func() { require.NoError(t, hooks.Got1xxResponse(http.StatusEarlyHints, nil)) },
				}[hook]()
			}
			assert.Equal(t, c.repeated, w.Repeated())
			assert.Equal(t, c.repeated, ctx.Err() != nil)
			cancel()
		})
	}
}

// When there is a hook for interim responses, net/http itself does not limit their size. A server may
// send one every second to say that it is at work.
func TestInterimResponses(t *testing.T) {
	var w Record
	hooks := httptrace.ContextClientTrace(w.Watch(t.Context(), func() {}, new(Transport)))
	for range 1000 {
		require.NoError(t, hooks.Got1xxResponse(http.StatusProcessing, nil))
	}
	long := textproto.MIMEHeader{"X-Flood": {strings.Repeat("x", maxHeaderBytes/2)}}
	require.NoError(t, hooks.Got1xxResponse(http.StatusEarlyHints, long))
	require.Error(t, hooks.Got1xxResponse(http.StatusEarlyHints, long))
}

// Over HTTP/1, net/http writes to the connection that it got, even if the context has ended.
func TestRepetitionOverHTTP1IsNotWritten(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		var w Record
		ctx, cancel := context.WithCancel(t.Context())
		hooks := httptrace.ContextClientTrace(w.Watch(ctx, cancel, &Transport{h2c: http2}))
		conn, other := net.Pipe()
		go func() { _, _ = io.Copy(io.Discard, other) }()
		hooks.GotConn(httptrace.GotConnInfo{Conn: conn})
		hooks.WroteHeaders()
		_, err := conn.Write([]byte("first"))
		require.NoError(t, err)
		hooks.GotConn(httptrace.GotConnInfo{Conn: conn})
		_, err = conn.Write([]byte("again"))
		require.Equal(t, http2, err == nil, "a connection of HTTP/2 has other requests")
		_ = conn.Close()
	}
}
