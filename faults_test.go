package petstore_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"encoding/binary"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/internal/link"
)

// http2Conn is the server's end of a connection of HTTP/2. It takes each HEADERS frame for a request
// that adds a pet, and does not decode it. The frames are those of RFC 9113, section 6.
type http2Conn struct {
	net.Conn
	number, streams int // of the connection, and of requests on it
}

const frameHeaders, frameReset, frameSettings, frameGoAway = 1, 3, 4, 7

func (c *http2Conn) write(kind, flags byte, stream uint32, payload ...byte) {
	n := len(payload)
	frame := binary.BigEndian.AppendUint32([]byte{byte(n >> 16), byte(n >> 8), byte(n), kind, flags}, stream)
	_, _ = c.Write(append(frame, payload...))
}

func (c *http2Conn) goAway(last uint32) {
	c.write(frameGoAway, 0, 0, 0, 0, 0, byte(last), 0, 0, 0, 0)
}

func (c *http2Conn) reset(stream uint32, code byte) { c.write(frameReset, 0, stream, 0, 0, 0, code) }

// respond sends a 201 in JSON; the header is encoded as in RFC 7541.
func (c *http2Conn) respond(stream uint32) {
	c.write(frameHeaders, 4, stream, []byte("\x08\x03201\x0f\x10\x10application/json")...)
	c.write(0, 1, stream, []byte(onePet)...)
}

// serve calls request for each request.
func (c *http2Conn) serve(request func(c *http2Conn, stream uint32)) {
	defer c.Close()
	r := bufio.NewReader(c)
	_, _ = r.Discard(len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
	c.write(frameSettings, 0, 0)
	for {
		var head [9]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return
		}
		_, _ = r.Discard(int(binary.BigEndian.Uint32(append([]byte{0}, head[:3]...))))
		switch kind, stream := head[3], binary.BigEndian.Uint32(head[5:]); {
		case kind == frameSettings && head[4] == 0:
			c.write(frameSettings, 1, 0)
		case kind == frameHeaders:
			c.streams++
			request(c, stream)
		}
	}
}

// readPet is a read whose success may have any status.
func readPet(c *petstore.Client, opts ...petstore.CallOption) error {
	_, err := c.Do(context.Background(), http.MethodGet, "pets/7", nil, nil, opts...)
	return err
}

// http2Client returns a client of a server of HTTP/2.
func http2Client(t *testing.T, request func(c *http2Conn, stream uint32), opts ...petstore.Option) *petstore.Client {
	t.Helper()
	var connections atomic.Int64
	return dialing(t, func(context.Context, string, string) (net.Conn, error) {
		l := link.New(func(*link.Link) {})
		go (&http2Conn{Conn: l.Server, number: int(connections.Add(1))}).serve(request)
		return l.Client, nil
	}, opts...)
}

// dialing returns a client with its own transport, which dials by a function.
func dialing(
	t *testing.T, dial func(context.Context, string, string) (net.Conn, error), opts ...petstore.Option,
) *petstore.Client {
	t.Helper()
	http2 := strings.HasPrefix(t.Name(), "TestHTTP2")
	client, err := petstore.NewClient("http://service.test/v1", testKey, append(opts, petstore.WithInsecureHTTP(),
		petstore.WithLimiter(nil), petstore.WithTransport(func(own http.RoundTripper) http.RoundTripper {
			clone := own.(*http.Transport).Clone()
			clone.DialContext, clone.Protocols = dial, new(http.Protocols)
			clone.Protocols.SetHTTP1(!http2)
			clone.Protocols.SetUnencryptedHTTP2(http2)
			return clone
		}))...)
	require.NoError(t, err)
	t.Cleanup(func() {
		time.Sleep(time.Second) // streams and connections end a moment after their calls
		client.CloseIdleConnections()
	})
	return client
}

// TestHTTP2Unprocessed has a server that does something else with the first request. Where the
// protocol says that it was not processed, the client sends a write again; else only a read.
func TestHTTP2Unprocessed(t *testing.T) {
	for name, row := range map[string]struct {
		first       func(c *http2Conn, stream uint32, done func())
		unprocessed bool
	}{
		"GOAWAY before the stream":                {func(c *http2Conn, _ uint32, _ func()) { c.goAway(0) }, true},
		"GOAWAY before the stream, and closed":    {func(c *http2Conn, _ uint32, _ func()) { c.goAway(0); _ = c.Close() }, true},
		"REFUSED_STREAM":                          {func(c *http2Conn, s uint32, _ func()) { c.reset(s, 7) }, true},
		"PROTOCOL_ERROR, and the pet is there":    {func(c *http2Conn, s uint32, done func()) { done(); c.reset(s, 1) }, false},
		"GOAWAY after the stream, and it is lost": {func(c *http2Conn, s uint32, done func()) { done(); c.goAway(s); _ = c.Close() }, false},
		"the connection is lost":                  {func(c *http2Conn, _ uint32, done func()) { done(); _ = c.Close() }, false},
	} {
		for _, call := range []callFunc{create, remove, func(c *petstore.Client, opts ...petstore.CallOption) error {
			_, err := c.Do(context.Background(), http.MethodPost, "pets/7", nil, nil, opts...)
			return err
		}} {
			virtual(t, name, func(t *testing.T) {
				var done atomic.Int64
				client := http2Client(t, func(c *http2Conn, stream uint32) {
					if c.number == 1 && c.streams == 1 {
						row.first(c, stream, func() { done.Add(1) })
						return
					}
					done.Add(1)
					c.respond(stream)
				})
				err := call(client)
				assert.Equal(t, row.unprocessed, err == nil, "%v", err)
				assert.Equal(t, !row.unprocessed, errors.Is(err, petstore.ErrOutcomeUnknown), "%v", err)
				assert.EqualValues(t, 1, done.Load())
			})
		}
	}
}

// TestHTTP2Recycled has a balancer that ends each connection after a hundred requests, as nginx does: it
// sends GOAWAY with the last response, and ignores the streams that come later.
func TestHTTP2Recycled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var created atomic.Int64
		client := http2Client(t, func(c *http2Conn, stream uint32) {
			if c.streams > 100 {
				return
			}
			if created.Add(1); c.streams == 100 {
				c.goAway(stream)
				time.AfterFunc(100*time.Millisecond, func() { _ = c.Close() })
			}
			c.respond(stream)
		})
		var all sync.WaitGroup
		for range 16 {
			all.Go(func() {
				for range 3000 / 16 {
					assert.NoError(t, create(client))
				}
			})
		}
		all.Wait()
		assert.EqualValues(t, 3000/16*16, created.Load())
	})
}

// TestHTTP2Dead has a connection that has gone silent, as a firewall leaves it behind. One attempt
// finds that out.
func TestHTTP2Dead(t *testing.T) {
	for name, call := range map[string]callFunc{"reads": readPet, "writes": create} {
		virtual(t, name, func(t *testing.T) {
			var dead atomic.Bool
			client := http2Client(t, func(c *http2Conn, stream uint32) {
				if c.number > 1 || !dead.Load() {
					c.respond(stream)
				}
			}, petstore.WithAttemptTimeout(2*time.Second))
			require.NoError(t, create(client))
			dead.Store(true)
			start, failed := time.Now(), 0
			for range 20 {
				if call(client) != nil {
					failed++
				}
			}
			assert.Equal(t, map[string]int{"reads": 0, "writes": 1}[name], failed)
			assert.Less(t, time.Since(start), 3*time.Second, "one timeout, and a backoff")
		})
	}
}

// TestDeadConnections has sixteen idle connections that have gone silent. Only the first call finds that
// out by its timeout: then the client closes the others.
func TestDeadConnections(t *testing.T) {
	for name, call := range map[string]callFunc{"reads": list, "writes": create} {
		virtual(t, name, func(t *testing.T) {
			var dead atomic.Bool
			var open sync.WaitGroup
			open.Add(16)
			serve := func(conn net.Conn) {
				defer conn.Close()
				old, r := !dead.Load(), bufio.NewReader(conn)
				for n := 1; ; n++ {
					req, err := http.ReadRequest(r)
					if err != nil {
						return
					}
					_, _ = io.Copy(io.Discard, req.Body)
					if old && n == 1 { // so that there are sixteen connections
						open.Done()
						open.Wait()
					}
					if !old || !dead.Load() {
						resp := response(req, map[string]int{"GET": 200, "POST": 201}[req.Method], bytes.NewReader(nil))
						body := map[string]string{"GET": "[]", "POST": onePet}[req.Method]
						resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader([]byte(body))), int64(len(body))
						_ = resp.Write(conn)
					}
				}
			}
			client := dialing(t, func(context.Context, string, string) (net.Conn, error) {
				conn, service := net.Pipe()
				go serve(service)
				return conn, nil
			})
			for range 16 {
				go func() { assert.NoError(t, create(client)) }()
			}
			synctest.Wait()
			dead.Store(true)
			failed := 0
			for range 20 {
				if err := call(client); err != nil {
					require.ErrorIs(t, err, petstore.ErrOutcomeUnknown)
					failed++
				}
			}
			assert.Equal(t, map[string]int{"reads": 0, "writes": 1}[name], failed)
		})
	}
}

// TestWriteIsSentOnce has a service that closes each connection when it has read the second request on it.
// net/http would repeat a read without a body then, on each idle connection. The client itself does, as a
// second attempt.
func TestWriteIsSentOnce(t *testing.T) {
	for name, c := range map[string]struct {
		method   string
		in       any
		requests int64 // with that on the first connection, and the repetition
	}{
		"POST": {"POST", 1, 2}, "POST without a body": {"POST", nil, 2}, "DELETE": {"DELETE", nil, 2}, "GET": {"GET", nil, 3},
	} {
		virtual(t, name, func(t *testing.T) {
			var requests atomic.Int64
			client := dialing(t, func(context.Context, string, string) (net.Conn, error) {
				conn, service := net.Pipe()
				go func() {
					defer service.Close()
					for r, n := bufio.NewReader(service), 1; n <= 2; n++ {
						req, err := http.ReadRequest(r)
						if err != nil {
							return
						}
						_, _ = io.Copy(io.Discard, req.Body)
						if requests.Add(1); n == 1 {
							_, _ = io.WriteString(service, "HTTP/1.1 204 No Content\r\n\r\n")
						}
					}
				}()
				return conn, nil
			})
			require.NoError(t, remove(client))
			_, err := client.Do(t.Context(), c.method, "pets/7", c.in, nil)
			assert.Equal(t, c.method != "GET", errors.Is(err, petstore.ErrOutcomeUnknown), "%v", err)
			assert.Equal(t, c.requests, requests.Load())
		})
	}
}

// deaf loses what is written after the other end has closed the connection. So the client reads why
// that was; over a network, that depends on which is faster.
type deaf struct{ net.Conn }

func (c deaf) Write(b []byte) (int, error) {
	_, _ = c.Conn.Write(b)
	return len(b), nil
}

// With TLS 1.3, a client learns only after its request that the server refuses its certificate.
func TestClientCertificateRefused(t *testing.T) {
	ts := httptest.NewUnstartedServer(nil)
	ts.StartTLS()
	defer ts.Close()
	attempts := 0
	client, err := petstore.NewClient("https://example.com/v1", testKey, petstore.WithTransport(func(rt http.RoundTripper) http.RoundTripper {
		clone := rt.(*http.Transport).Clone()
		clone.TLSClientConfig = ts.Client().Transport.(*http.Transport).TLSClientConfig
		clone.DialContext = func(context.Context, string, string) (net.Conn, error) {
			l := link.New(func(*link.Link) {})
			config := &tls.Config{Certificates: ts.TLS.Certificates, ClientAuth: tls.RequireAnyClientCert}
			go func() {
				_ = tls.Server(l.Server, config).HandshakeContext(context.Background())
				_ = l.Server.Close()
			}()
			return deaf{l.Client}, nil
		}
		return clone
	}), petstore.WithTrace(&petstore.ClientTrace{AttemptStart: func(context.Context, petstore.Call) { attempts++ }}))
	require.NoError(t, err)
	for _, call := range []callFunc{create, list} {
		err := call(client)
		require.ErrorContains(t, err, "certificate required")
		require.ErrorIs(t, err, petstore.ErrNotSent)
		require.NotErrorIs(t, err, petstore.ErrOutcomeUnknown)
	}
	assert.Equal(t, 2, attempts)
}
