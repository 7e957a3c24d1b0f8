package wire_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/internal/retry"
	"github.com/petstore/petstore-go/internal/wire"
)

// The address of the service does not matter: the proxies of this test do not connect.
func TestProxyRefuses(t *testing.T) {
	t.Parallel()
	for reply, c := range map[string]struct {
		kind       retry.Failure
		text, bare string // the error, and that of a transport without CheckConnect
	}{
		"HTTP/1.1 407 No\r\n\r\n":             {retry.Permanent, "407 Proxy Authentication Required to CONNECT", "No"},
		"HTTP/1.1 429 No\r\n\r\n":             {retry.Connection, "429 Too Many Requests to CONNECT", "No"},
		"HTTP/1.1 502 No\r\n\r\n<html>":       {retry.Connection, "the proxy responded 502 Bad Gateway to CONNECT", "No"},
		"HTTP/1.1 200 OK\r\nno colon\r\n\r\n": {retry.Permanent, "malformed MIME header", "malformed MIME header"},
		"SSH-2.0-server\r\n\r\n":              {retry.Permanent, "malformed HTTP response", "malformed HTTP response"},
		"HTTP/1.1 200 OK\r\n\r\n":             {retry.Connection, "closed pipe", "closed pipe"},
		"HTTP/1.1 200 O":                      {retry.Connection, "unexpected EOF", "unexpected EOF"},
	} {
		t.Run(reply, func(t *testing.T) {
			proxy := serve(t, nil, func(s *server, conn net.Conn) {
				if s.read(bufio.NewReader(conn)) {
					_, _ = io.WriteString(conn, reply)
				}
			})
			address := &url.URL{Scheme: "http", Host: "proxy.test", User: url.UserPassword("team", "proxy-secret")}
			bare := &http.Transport{Proxy: http.ProxyURL(address), DialContext: proxy.dial, ForceAttemptHTTP2: true}
			own := bare.Clone()
			own.OnProxyConnectResponse = wire.CheckConnect
			for _, method := range methods {
				o := newClient(t, "https://service.test/v1", own).send(t, method)
				require.ErrorContains(t, o.err, c.text)
				assert.Equal(t, c.kind, o.kind, "%s: %v", method, o.err)
				assert.False(t, o.sent, "%s: %v", method, o.err)
				assert.NotContains(t, o.err.Error(), "proxy-secret")
				o = newClient(t, "https://service.test/v1", bare).send(t, method)
				require.ErrorContains(t, o.err, c.bare)
				assert.False(t, o.sent, "%s: %v", method, o.err)
			}
		})
	}
}
