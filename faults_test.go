package petstore_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

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

const frameData, frameHeaders, frameReset, frameSettings, frameGoAway = 0, 1, 3, 4, 7

func (c *http2Conn) write(kind, flags byte, stream uint32, payload ...byte) {
	n := len(payload)
	frame := binary.BigEndian.AppendUint32([]byte{byte(n >> 16), byte(n >> 8), byte(n), kind, flags}, stream)
	_, _ = c.Write(append(frame, payload...))
}

func (c *http2Conn) goAway(last uint32) { c.write(frameGoAway, 0, 0, 0, 0, 0, byte(last), 0, 0, 0, 0) }

func (c *http2Conn) reset(stream uint32, code byte) { c.write(frameReset, 0, stream, 0, 0, 0, code) }

// respond sends a 201 in JSON; the header is encoded as in RFC 7541.
func (c *http2Conn) respond(stream uint32) {
	c.write(frameHeaders, 4, stream, []byte("\x08\x03201\x0f\x10\x10application/json")...)
	c.write(frameData, 1, stream, []byte(onePet)...)
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
	type first = func(c *http2Conn, stream uint32)
	closes := func(do first) first {
		return func(c *http2Conn, stream uint32) {
			do(c, stream)
			_ = c.Close()
		}
	}
	refuses := func(c *http2Conn, _ uint32) { c.goAway(0) }
	for name, row := range map[string]struct {
		first
		unprocessed bool
	}{
		"GOAWAY before the stream":                {refuses, true},
		"GOAWAY before the stream, and closed":    {closes(refuses), true},
		"REFUSED_STREAM":                          {func(c *http2Conn, stream uint32) { c.reset(stream, 7) }, true},
		"PROTOCOL_ERROR, and the pet is there":    {func(c *http2Conn, stream uint32) { c.reset(stream, 1) }, false},
		"GOAWAY after the stream, and it is lost": {closes((*http2Conn).goAway), false},
		"the connection is lost":                  {closes(func(*http2Conn, uint32) {}), false},
	} {
		for _, call := range []callFunc{create, remove} {
			virtual(t, name, func(t *testing.T) {
				var done atomic.Int64
				client := http2Client(t, func(c *http2Conn, stream uint32) {
					isFirst := c.number == 1 && c.streams == 1
					if !isFirst || !row.unprocessed {
						done.Add(1)
					}
					if isFirst {
						row.first(c, stream)
						return
					}
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

// reaction is what a service does after it has read a request.
type reaction uint8

const (
	answers reaction = iota
	keepsSilent
	closes
)

// http1Client returns a client of a service of HTTP/1, with that many idle connections. Further requests
// get the reaction that react returns; old says whether it is on one of those.
func http1Client(t *testing.T, idle int, react func(old bool) reaction) *petstore.Client {
	t.Helper()
	var opened sync.WaitGroup
	var dials atomic.Int64
	opened.Add(idle)
	serve := func(conn net.Conn, old bool) {
		defer conn.Close()
		for r, n := bufio.NewReader(conn), 1; ; n++ {
			req, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, req.Body)
			does := answers
			if old && n == 1 {
				opened.Done()
				opened.Wait()
			} else {
				does = react(old)
			}
			switch {
			case does == closes:
				return
			case does == answers && req.Method == http.MethodGet:
				_, _ = fmt.Fprintf(conn, jsonResponse, 200, 2, "[]")
			case does == answers:
				_, _ = fmt.Fprintf(conn, jsonResponse, 201, len(onePet), onePet)
			}
		}
	}
	client := dialing(t, func(context.Context, string, string) (net.Conn, error) {
		conn, service := net.Pipe()
		go serve(service, dials.Add(1) <= int64(idle))
		return conn, nil
	})
	for range idle {
		go func() { assert.NoError(t, create(client)) }()
	}
	synctest.Wait()
	return client
}

const jsonResponse = "HTTP/1.1 %d OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"

// Of sixteen idle connections that have gone silent, only the first one costs a call its timeout: then the
// client closes the others.
func TestDeadConnections(t *testing.T) {
	for name, call := range map[string]callFunc{"reads": list, "writes": create} {
		virtual(t, name, func(t *testing.T) {
			client := http1Client(t, 16, func(old bool) reaction {
				if old {
					return keepsSilent
				}
				return answers
			})
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

// A caller that loses patience says nothing about the connection: the client closes no other one.
func TestCancelOnAReusedConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		client := http1Client(t, 2, func(old bool) reaction {
			assert.True(t, old, "there is no third connection")
			if ctx.Err() == nil {
				cancel()
				return keepsSilent
			}
			return answers
		})
		_, err := client.ListPets(ctx, petstore.ListPetsParams{})
		require.ErrorIs(t, err, context.Canceled)
		require.NoError(t, list(client))
	})
}

// A service closes idle connections when it has read a request on one. net/http would repeat a request
// without a body on the next one, and so on. The client repeats only a read, once and without a pause.
func TestWriteIsSentOnce(t *testing.T) {
	for _, call := range []struct {
		method string
		in     any
		sent   int64
	}{{"POST", 1, 1}, {"POST", nil, 1}, {"DELETE", nil, 1}, {"GET", nil, 2}} {
		virtual(t, call.method, func(t *testing.T) {
			var requests atomic.Int64
			client := http1Client(t, 4, func(old bool) reaction {
				requests.Add(1)
				if old {
					return closes
				}
				return answers
			})
			start := time.Now()
			_, err := client.Do(t.Context(), call.method, "pets/7", call.in, nil)
			assert.Equal(t, call.method != "GET", errors.Is(err, petstore.ErrOutcomeUnknown), "%v", err)
			assert.Equal(t, call.sent, requests.Load())
			assert.Less(t, time.Since(start), 10*time.Millisecond)
		})
	}
}
