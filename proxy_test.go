package petstore_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/loopback"
)

// connectProxy is an HTTP proxy that responds to each CONNECT with reply, or connects if reply is
// empty.
func connectProxy(t *testing.T, reply string) (proxy *wireServer, heads *sync.Map) {
	t.Helper()
	heads = new(sync.Map)
	proxy = serveWire(t, nil, func(p *wireServer, conn net.Conn) {
		reader := bufio.NewReader(conn)
		r, err := http.ReadRequest(reader)
		if err != nil {
			return
		}
		heads.Store(fmt.Sprint(r.Method, " ", r.RequestURI, " ", r.Header), true)
		p.requests.Add(1)
		if reply != "" {
			_, _ = io.WriteString(conn, reply)
			return
		}
		service, err := net.Dial("tcp", r.RequestURI)
		if err != nil {
			return
		}
		defer service.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 200 Connection established\r\n\r\n")
		p.conns.Go(func() {
			_, _ = io.Copy(service, reader)
			_ = service.(*net.TCPConn).CloseWrite()
		})
		_, _ = io.Copy(conn, service)
	})
	return proxy, heads
}

// clientBehind returns a client of server behind proxy, with its own transport or one of the user.
func clientBehind(t *testing.T, server *httptest.Server, proxy *wireServer, users bool) *petstore.Client {
	t.Helper()
	address := &url.URL{Scheme: "http", Host: proxy.listener.Addr().String(), User: url.UserPassword("team", "proxy-secret")}
	behind := func(rt http.RoundTripper) http.RoundTripper {
		tuned := rt.(*http.Transport)
		tuned.Proxy = http.ProxyURL(address)
		tuned.TLSClientConfig = server.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
		t.Cleanup(tuned.CloseIdleConnections)
		return tuned
	}
	transport := petstore.WithTransport(behind)
	if users {
		transport = petstore.WithHTTPClient(&http.Client{Transport: behind(new(http.Transport))})
	}
	client, err := petstore.NewClient(server.URL+"/v1", fake.DefaultAPIKey, transport,
		petstore.WithRetryPolicy(petstore.RetryPolicy{BaseDelay: time.Microsecond}))
	require.NoError(t, err)
	return client
}

func TestClientBehindProxy(t *testing.T) {
	t.Parallel()
	loopback.Need(t)
	service := fake.NewTestServer(t)
	server := httptest.NewTLSServer(service)
	t.Cleanup(server.Close)
	t.Run("sends the proxy neither the key nor a path", func(t *testing.T) {
		proxy, heads := connectProxy(t, "")
		client := clientBehind(t, server, proxy, false)
		_, err := client.CreatePet(t.Context(), petstore.NewPet{Name: "Rex"})
		require.NoError(t, err)
		require.NoError(t, list(client))
		heads.Range(func(head, _ any) bool {
			assert.Contains(t, head, "CONNECT "+server.Listener.Addr().String()+" ")
			assert.NotContains(t, head, fake.DefaultAPIKey)
			assert.NotContains(t, head, "pets")
			return true
		})
	})
	for name, c := range map[string]struct {
		reply, text string
		attempts    int
	}{
		"407":          {"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "Proxy Authentication Required", 1},
		"407, wrong":   {"HTTP/1.1 407 Wrong password\r\n\r\n", "", 1},
		"403 in HTML":  {"HTTP/1.1 403 Forbidden\r\nContent-Type: text/html\r\n\r\n<html>", "Forbidden", 1},
		"429":          {"HTTP/1.1 429 too many requests\r\nRetry-After: 9\r\n\r\n", "oo ", 4},
		"502":          {"HTTP/1.1 502 Bad Gateway\r\n\r\n", "Bad Gateway", 4},
		"not HTTP":     {"SSH-2.0-server\r\n\r\n", "malformed HTTP response", 1},
		"a bad header": {"HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "malformed MIME header", 1},
		"cut off":      {"HTTP/1.1 200 O", "unexpected EOF", 4},
	} {
		t.Run("leaves no doubt about a create if its response to CONNECT is "+name, func(t *testing.T) {
			proxy, _ := connectProxy(t, c.reply)
			for _, users := range []bool{false, true} {
				for operation, call := range calls(clientBehind(t, server, proxy, users)) {
					before := proxy.requests.Load()
					err := call(t)
					failed, ok := errors.AsType[*petstore.TransportError](err)
					require.True(t, ok, "%s: %T %v", operation, err, err)
					assert.ErrorContains(t, err, c.text)
					assert.False(t, failed.Sent)
					assert.NotErrorIs(t, err, petstore.ErrOutcomeUnknown)
					assert.NotContains(t, err.Error(), "proxy-secret")
					assert.EqualValues(t, c.attempts, proxy.requests.Load()-before, "the user's: %v", users)
				}
			}
		})
	}
}
