package petstore_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/loopback"
)

// wireServer is a server of raw connections that counts the requests.
type wireServer struct {
	listener net.Listener
	url      string
	requests atomic.Int32
	conns    sync.WaitGroup
}

// serveWire starts a wireServer that calls serve for each connection. It stops at the end of the
// test.
func serveWire(t *testing.T, config *tls.Config, serve func(s *wireServer, conn net.Conn)) *wireServer {
	t.Helper()
	listener := loopback.Listen(t)
	ending, end := context.WithCancel(t.Context())
	s := &wireServer{listener: listener, url: "http://" + listener.Addr().String() + "/v1"}
	if config != nil {
		s.url = "https://" + listener.Addr().String() + "/v1"
		s.listener = tls.NewListener(listener, config)
	}
	s.conns.Go(func() {
		for {
			conn, err := s.listener.Accept()
			if err != nil {
				return
			}
			end := context.AfterFunc(ending, func() { _ = conn.Close() })
			s.conns.Go(func() {
				defer end()
				defer conn.Close()
				serve(s, conn)
			})
		}
	})
	t.Cleanup(func() {
		end()
		_ = s.listener.Close()
		s.conns.Wait()
	})
	return s
}

// wireClients returns functions that make clients of s: with the client's own transport, with one
// of the user, and with a wrapper around that. The clients retry immediately.
func wireClients(t *testing.T, s *wireServer, trusted *tls.Config) map[string]func() (*petstore.Client, *countingLimiter) {
	t.Helper()
	users := &http.Transport{TLSClientConfig: trusted.Clone(), ForceAttemptHTTP2: true}
	t.Cleanup(users.CloseIdleConnections)
	own := petstore.WithTransport(func(rt http.RoundTripper) http.RoundTripper {
		tuned := rt.(*http.Transport)
		tuned.TLSClientConfig = trusted.Clone()
		t.Cleanup(tuned.CloseIdleConnections)
		return tuned
	})
	clients := map[string]func() (*petstore.Client, *countingLimiter){}
	for name, opt := range map[string]petstore.Option{
		"own transport":     own,
		"user's transport":  petstore.WithHTTPClient(&http.Client{Transport: users}),
		"wrapped transport": petstore.WithHTTPClient(&http.Client{Transport: responder(users.RoundTrip)}),
	} {
		clients[name] = func() (*petstore.Client, *countingLimiter) {
			counted := new(countingLimiter)
			client, err := petstore.NewClient(s.url, testKey, opt, petstore.WithLimiter(counted),
				petstore.WithRetryPolicy(petstore.RetryPolicy{MaxAttempts: 3, BaseDelay: time.Microsecond}),
				petstore.WithAttemptTimeout(5*time.Second)) // otherwise net/http would wait for minutes between repetitions
			require.NoError(t, err)
			return client, counted
		}
	}
	return clients
}

// checkOnePermitOneRequest makes one call, and compares its result with the requests that arrived.
// unprocessed says that the server may refuse requests so that a create may be sent again.
func checkOnePermitOneRequest(
	t *testing.T, s *wireServer, client *petstore.Client, counted *countingLimiter, operation string, unprocessed bool,
) error {
	t.Helper()
	before := s.requests.Load()
	sent := counted.sent()
	call := calls(client)[operation]
	if call == nil {
		call = func(t *testing.T, _ ...petstore.CallOption) error {
			_, err := client.Do(t.Context(), http.MethodPost, "pets", nil, nil) // without a body
			return err
		}
	}
	err := call(t)
	arrived := int(s.requests.Load() - before)
	assert.LessOrEqual(t, arrived, counted.sent()-sent, "each request on the wire has a permit: %v", err)
	if err != nil {
		assert.LessOrEqual(t, arrived, attemptsOf(t, err), "%v", err)
	}
	if operation != "listPets" && (err == nil || errors.Is(err, petstore.ErrOutcomeUnknown) || !unprocessed) {
		assert.LessOrEqual(t, arrived, 1, "a write is sent once")
		if err != nil {
			assert.Equal(t, arrived > 0, errors.Is(err, petstore.ErrOutcomeUnknown), "%v", err)
		}
	}
	return err
}

func TestHTTP2SendsOneRequestForAPermit(t *testing.T) {
	loopback.Need(t)
	certificate := httptest.NewTLSServer(nil)
	t.Cleanup(certificate.Close)
	trusted := certificate.Client().Transport.(*http.Transport).TLSClientConfig
	config := &tls.Config{Certificates: certificate.TLS.Certificates, NextProtos: []string{"h2"}}

	type ending struct {
		name        string
		unprocessed bool // by RFC 9113, section 8.7
		end         func(c *http2Conn, stream uint32)
	}
	var endings []ending
	for code := range uint32(14) { // RFC 9113, section 7
		endings = append(endings,
			ending{fmt.Sprintf("RST_STREAM %d before the header", code), code == refusedStream, func(c *http2Conn, stream uint32) {
				c.reset(stream, code)
			}},
			ending{fmt.Sprintf("RST_STREAM %d after the header", code), false, func(c *http2Conn, stream uint32) {
				c.write(frameHeaders, flagEndHeaders, stream, responseHeaders)
				c.write(frameRSTStream, 0, stream, binary.BigEndian.AppendUint32(nil, code))
			}},
			ending{fmt.Sprintf("GOAWAY %d that leaves the stream out", code), true, func(c *http2Conn, stream uint32) {
				c.goAway(stream-1, code)
			}},
			ending{fmt.Sprintf("GOAWAY %d that takes the stream in", code), false, func(c *http2Conn, stream uint32) {
				c.goAway(stream, code)
				_ = c.conn.Close()
			}})
	}
	endings = append(endings,
		ending{"GOAWAY for all streams", false, func(c *http2Conn, _ uint32) { c.goAway(1<<31-1, 0); _ = c.conn.Close() }},
		ending{"connection closed", false, func(c *http2Conn, _ uint32) { _ = c.conn.Close() }},
	)
	for _, e := range endings {
		s := serveWire(t, config, func(s *wireServer, conn net.Conn) {
			c := &http2Conn{conn: conn}
			c.serve(s, e.end)
		})
		for transport, newClient := range wireClients(t, s, trusted) {
			for _, operation := range []string{"createPet", "listPets", "do POST"} {
				t.Run(e.name+"/"+transport+"/"+operation, func(t *testing.T) {
					client, counted := newClient()
					for range 2 { // the second call may know that this is HTTP/2
						assert.Error(t, checkOnePermitOneRequest(t, s, client, counted, operation, e.unprocessed))
					}
				})
			}
		}
	}
}

func TestCreatePetOverHTTP2(t *testing.T) {
	loopback.Need(t)
	certificate := httptest.NewTLSServer(nil)
	t.Cleanup(certificate.Close)
	trusted := certificate.Client().Transport.(*http.Transport).TLSClientConfig
	config := &tls.Config{Certificates: certificate.TLS.Certificates, NextProtos: []string{"h2"}}
	for name, c := range map[string]struct {
		again bool
		end   func(c *http2Conn, stream uint32)
	}{
		"GOAWAY that leaves it out": {true, func(c *http2Conn, stream uint32) { c.goAway(stream-1, 0) }},
		"GOAWAY that takes it in":   {false, func(c *http2Conn, stream uint32) { c.goAway(stream, 0); _ = c.conn.Close() }},
		"REFUSED_STREAM":            {true, func(c *http2Conn, stream uint32) { c.reset(stream, refusedStream) }},
		"PROTOCOL_ERROR":            {false, func(c *http2Conn, stream uint32) { c.reset(stream, 1) }},
	} {
		s := serveWire(t, config, func(s *wireServer, conn net.Conn) {
			(&http2Conn{conn: conn}).serve(s, func(h *http2Conn, stream uint32) {
				if s.requests.Load()%2 == 1 {
					c.end(h, stream)
					return
				}
				h.write(frameHeaders, flagEndHeaders, stream, slices.Concat([]byte{0x08, 3}, []byte("201"), responseHeaders[1:]))
				h.write(frameData, flagEndStream, stream, []byte(`{"id":1,"name":"Rex","categoryId":3}`))
			})
		})
		for transport, newClient := range wireClients(t, s, trusted) {
			known := c.again && transport != "wrapped transport"
			outcome := map[bool]string{true: "is sent again", false: "has an unknown outcome"}[known]
			t.Run(outcome+" after "+name+" with the "+transport, func(t *testing.T) {
				client, counted := newClient()
				created, err := client.CreatePet(t.Context(), newPet())
				if known {
					require.NoError(t, err)
					assert.Equal(t, 2, created.Attempts)
					assert.Equal(t, 2, counted.sent())
					return
				}
				require.ErrorIs(t, err, petstore.ErrOutcomeUnknown)
				assert.Equal(t, 1, counted.sent())
				_, err = client.CreatePet(t.Context(), newPet())
				require.NoError(t, err, "the other half of the requests succeeds")
			})
		}
	}
}

// The frames that the tests need (RFC 9113, section 6).
const (
	frameData      = 0
	frameHeaders   = 1
	frameRSTStream = 3
	frameSettings  = 4
	frameGoAway    = 7

	flagAck        = 1
	flagEndStream  = 1
	flagEndHeaders = 4

	refusedStream = 7 // an error code (RFC 9113, section 7)
)

// responseHeaders is ":status: 200" (an indexed field of RFC 7541) and a Content-Type.
var responseHeaders = append([]byte{0x88, 0x0f, 0x10, 16}, "application/json"...)

// http2Conn is the server's end of a connection. It takes each HEADERS frame for a request and does
// not decode it.
type http2Conn struct {
	conn net.Conn
	mu   sync.Mutex
}

func (c *http2Conn) write(kind, flags byte, stream uint32, payload []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(payload)
	frame := binary.BigEndian.AppendUint32([]byte{byte(n >> 16), byte(n >> 8), byte(n), kind, flags}, stream)
	_, _ = c.conn.Write(append(frame, payload...))
}

func (c *http2Conn) reset(stream, code uint32) {
	c.write(frameRSTStream, 0, stream, binary.BigEndian.AppendUint32(nil, code))
}

func (c *http2Conn) goAway(last, code uint32) {
	c.write(frameGoAway, 0, 0, binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, last), code))
}

// serve reads frames, and calls end for each stream after its header.
func (c *http2Conn) serve(s *wireServer, end func(c *http2Conn, stream uint32)) {
	preface := make([]byte, len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
	if _, err := io.ReadFull(c.conn, preface); err != nil {
		return
	}
	c.write(frameSettings, 0, 0, nil)
	for {
		var head [9]byte
		if _, err := io.ReadFull(c.conn, head[:]); err != nil {
			return
		}
		size := int64(head[0])<<16 | int64(head[1])<<8 | int64(head[2])
		if _, err := io.CopyN(io.Discard, c.conn, size); err != nil {
			return
		}
		switch kind, flags := head[3], head[4]; {
		case kind == frameSettings && flags&flagAck == 0:
			c.write(frameSettings, flagAck, 0, nil)
		case kind == frameHeaders:
			s.requests.Add(1)
			end(c, binary.BigEndian.Uint32(head[5:])&(1<<31-1))
		}
	}
}

func TestHTTP1SendsOneRequestForAPermit(t *testing.T) {
	t.Parallel()
	loopback.Need(t)
	const body = `{"id":1,"name":"Rex","categoryId":3}`
	respond := func(conn net.Conn, r *http.Request) {
		text, code := "["+body+"]", "200 OK"
		if r.Method == http.MethodPost {
			text, code = body, "201 Created"
		}
		fmt.Fprintf(conn, "HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", code, len(text), text)
	}
	for name, good := range map[string]int32{ // number of requests on a connection that get a response
		"closed after reading the request":                  0,
		"closed after reading the second request":           1,
		"closed after reading the third request, with more": 2,
	} {
		t.Run(name, func(t *testing.T) {
			s := serveWire(t, nil, func(s *wireServer, conn net.Conn) {
				reader := bufio.NewReader(conn)
				for n := int32(0); ; n++ {
					r, err := http.ReadRequest(reader)
					if err != nil {
						return
					}
					_, _ = io.Copy(io.Discard, r.Body)
					s.requests.Add(1)
					if n >= good {
						return
					}
					respond(conn, r)
				}
			})
			for transport, newClient := range wireClients(t, s, new(tls.Config)) {
				for _, operation := range []string{"createPet", "listPets", "do POST"} {
					t.Run(transport+"/"+operation, func(t *testing.T) {
						client, counted := newClient()
						for range 4 {
							_ = checkOnePermitOneRequest(t, s, client, counted, operation, false)
						}
					})
				}
			}
		})
	}
}

func TestHTTP1RequestsWithoutABody(t *testing.T) {
	t.Parallel()
	loopback.Need(t)
	written := make(chan string, 1)
	s := serveWire(t, nil, func(_ *wireServer, conn net.Conn) {
		var text []byte
		for !bytes.HasSuffix(text, []byte("\r\n\r\n")) {
			var b [1]byte
			if _, err := conn.Read(b[:]); err != nil {
				return
			}
			text = append(text, b[0])
		}
		_ = conn.SetReadDeadline(time.Now().Add(20 * time.Millisecond)) // long enough to see further bytes
		rest, _ := io.ReadAll(conn)
		written <- string(text) + string(rest)
		fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n[]")
	})
	for _, newClient := range wireClients(t, s, new(tls.Config)) {
		client, _ := newClient()
		for method, length := range map[string]string{ // servers refuse a POST without a length with 411
			"GET": "", "POST": "Content-Length: 0\r\n", "PUT": "Content-Length: 0\r\n", "PATCH": "Content-Length: 0\r\n", "DELETE": "",
		} {
			_, err := client.Do(t.Context(), method, "pets", nil, nil)
			require.NoError(t, err)
			assert.Equal(t, method+" /v1/pets HTTP/1.1\r\nHost: "+s.listener.Addr().String()+"\r\n"+
				"User-Agent: petstore-go/"+petstore.Version+"\r\n"+length+"Accept: application/json\r\n"+
				"Authorization: Bearer "+testKey+"\r\nAccept-Encoding: gzip\r\n\r\n", <-written)
		}
	}
}

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
