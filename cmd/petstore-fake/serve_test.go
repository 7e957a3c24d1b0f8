package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/fake"
)

// get sends a GET to the service with a client that keeps its connections.
func get(t *testing.T, c *http.Client, host string) (status int, body string, err error) {
	t.Helper()
	return do(c, requestTo(t, host, "GET", "/v1/pets", ""))
}

// do sends a request and reads the whole response.
func do(c *http.Client, r *http.Request) (status int, body string, err error) {
	resp, err := c.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}

// requestTo returns a request to a host with the default key.
func requestTo(t *testing.T, host, method, path, body string) *http.Request {
	t.Helper()
	r := request(t, method, "http://"+host+path, body)
	r.RequestURI, r.Host = "", host // it is a client's
	r.Header.Set("Authorization", "Bearer "+fake.DefaultAPIKey)
	return r
}

func keepingClient(t *testing.T) *http.Client {
	t.Helper()
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// raw sends bytes on a connection of its own and returns the status line of the response.
func raw(t *testing.T, host, text string) string {
	t.Helper()
	var d net.Dialer
	conn, err := d.DialContext(t.Context(), "tcp", host)
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(5*time.Second)))
	_, _ = io.WriteString(conn, text) // the server may have had enough before the end
	line, err := bufio.NewReader(conn).ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSpace(line)
}

func TestServer(t *testing.T) {
	t.Parallel()
	t.Run("responds on raw connections", func(t *testing.T) {
		t.Parallel()
		host := start(t).host
		for text, want := range map[string]string{
			"GET /_fake/ HTTP/1.1\r\nHost: " + host + "\r\n\r\n":                                           "HTTP/1.1 200 OK",
			"GET http://evil.test/_fake/ HTTP/1.1\r\nHost: " + host + "\r\n\r\n":                           "HTTP/1.1 403 Forbidden",
			"GET /%5Ffake/ HTTP/1.1\r\nHost: evil.test\r\n\r\n":                                            "HTTP/1.1 403 Forbidden",
			"GET /_fake/ HTTP/1.0\r\n\r\n":                                                                 "HTTP/1.0 403 Forbidden",
			"OPTIONS * HTTP/1.1\r\nHost: " + host + "\r\n\r\n":                                             "HTTP/1.1 404 Not Found",
			"GET / HTTP/2.0\r\n\r\n":                                                                       "HTTP/1.1 505 HTTP Version Not Supported: unsupported protocol version",
			fmt.Sprintf("GET / HTTP/1.1\r\nHost: %s\r\nX: %s\r\n\r\n", host, strings.Repeat("x", 128<<10)): "HTTP/1.1 431 Request Header Fields Too Large",
			"POST /_fake/clock HTTP/1.1\r\nHost: " + host + "\r\nContent-Type: application/json\r\n" +
				"Transfer-Encoding: chunked\r\n\r\n10\r\n{\"advance\":\"1s\"}\r\n0\r\n\r\n": "HTTP/1.1 200 OK",
			"POST /_fake/reset HTTP/1.1\r\nHost: " + host + "\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n": "HTTP/1.1 204 No Content",
		} {
			assert.Equal(t, want, raw(t, host, text), "%.80q", text)
		}
	})
	t.Run("bounds headers and speaks only HTTP/1", func(t *testing.T) {
		t.Parallel()
		hs := newServer(http.NotFoundHandler(), io.Discard)
		assert.Positive(t, hs.ReadHeaderTimeout)
		assert.Positive(t, hs.IdleTimeout)
		assert.Positive(t, hs.MaxHeaderBytes)
		assert.True(t, hs.Protocols.HTTP1())
		assert.False(t, hs.Protocols.HTTP2())
		assert.False(t, hs.Protocols.UnencryptedHTTP2())
	})
}
