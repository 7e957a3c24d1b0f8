package wire

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Over HTTP/2, net/http calls the hooks of one request from two goroutines.
func TestRepetition(t *testing.T) {
	for _, c := range []struct {
		name     string
		hooks    string // a connection, a header written, a first byte of a response, an interim response
		repeated bool
	}{
		{"sees a second request without a response to the first", "cwc", true},
		{"allows a request of a transport after a response", "cwrcwr", false},
		{"allows one after a response that came before the hook of the header", "crwcrwcwr", false},
		{"sees a repetition after such a response", "crwcwc", true},
		{"sees a repetition after interim responses", "cwriic", true},
		{"allows a connection in place of one on which nothing was written", "ccwr", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var w Record
			ctx, cancel := context.WithCancel(t.Context())
			hooks := httptrace.ContextClientTrace(w.Watch(ctx, cancel, new(Transport)))
			for _, hook := range c.hooks {
				map[rune]func(){
					'c': func() { hooks.GotConn(httptrace.GotConnInfo{}) },
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

// When there is a hook for interim responses, net/http itself does not limit their number.
func TestInterimResponses(t *testing.T) {
	var w Record
	hooks := httptrace.ContextClientTrace(w.Watch(t.Context(), func() {}, new(Transport)))
	for range 5 {
		require.NoError(t, hooks.Got1xxResponse(http.StatusEarlyHints, nil))
	}
	require.Error(t, hooks.Got1xxResponse(http.StatusEarlyHints, nil))
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
