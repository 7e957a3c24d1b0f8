package wire_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/internal/retry"
	"github.com/petstore/petstore-go/internal/wire"
)

// The address of the service does not matter: the proxies of this test do not connect.
func TestProxyRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reply, text string // the response to CONNECT, and the error
		kind        retry.Failure
	}{
		"407":          {"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "Proxy Authentication Required", retry.Permanent},
		"403 in HTML":  {"HTTP/1.1 403 Forbidden\r\nContent-Type: text/html\r\n\r\n<html>", "Forbidden", retry.Permanent},
		"429":          {"HTTP/1.1 429 too many requests\r\nRetry-After: 9\r\n\r\n", "oo ", retry.Connection},
		"502":          {"HTTP/1.1 502 Bad Gateway\r\n\r\n", "Bad Gateway", retry.Connection},
		"not HTTP":     {"SSH-2.0-server\r\n\r\n", "malformed HTTP response", retry.Permanent},
		"a bad header": {"HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "malformed MIME header", retry.Permanent},
		"cut off":      {"HTTP/1.1 200 O", "unexpected EOF", retry.Connection},
	} {
		t.Run(name, func(t *testing.T) {
			proxy := serve(t, nil, func(s *server, conn net.Conn) {
				if readRequest(s, bufio.NewReader(conn)) {
					_, _ = io.WriteString(conn, c.reply)
				}
			})
			address := http.ProxyURL(&url.URL{Scheme: "http", Host: "proxy.test", User: url.UserPassword("team", "proxy-secret")})
			for _, own := range []bool{false, true} {
				transport := &http.Transport{Proxy: address, DialContext: proxy.dial, ForceAttemptHTTP2: true}
				if own {
					transport.OnProxyConnectResponse = wire.CheckConnect
				}
				for _, method := range methods {
					o := newClient(t, "https://service.test/v1", transport).send(t, method)
					require.ErrorContains(t, o.err, c.text)
					if own || !strings.HasPrefix(name, "40") { // without CheckConnect, the error has only the words of the status
						assert.Equal(t, c.kind, o.kind, "own: %v, %s: %v", own, method, o.err)
					}
					assert.False(t, o.sent, "own: %v, %s: %v", own, method, o.err)
					assert.NotContains(t, o.err.Error(), "proxy-secret")
				}
			}
		})
	}
}
