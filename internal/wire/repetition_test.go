package wire_test

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// methods are a read, a write with a body, and writes without one.
var methods = []string{http.MethodGet, http.MethodPost, http.MethodDelete, http.MethodPut}

// checkOneRequest sends one request, and compares the outcome with the requests that arrived.
func checkOneRequest(t *testing.T, s *server, c *client, method string) outcome {
	t.Helper()
	before := s.requests.Load()
	o := c.send(t, method)
	arrived := s.requests.Load() - before
	assert.LessOrEqual(t, arrived, int32(1), "it is sent once: %v", o.err)
	assert.True(t, o.sent || arrived == 0, "it arrived: %v", o.err)
	return o
}

func TestHTTP2SendsOnce(t *testing.T) {
	config, trusted := certificate(t)
	codes := uint32(14) // RFC 9113, section 7
	if testing.Short() {
		codes = 1
	}
	for name, end := range http2Ends(codes) {
		s := serve(t, config, func(s *server, conn net.Conn) { (&http2Conn{conn: conn}).serve(s, end) })
		overTLS := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: trusted.Clone(), DialContext: s.dial}
		h2c := &http.Transport{Protocols: new(http.Protocols), DialContext: s.dial}
		h2c.Protocols.SetUnencryptedHTTP2(true)
		for transport, c := range map[string]*client{
			"over TLS":          newClient(t, "https://example.com/v1", overTLS),
			"over TLS, wrapped": newClient(t, "https://example.com/v1", roundTripper(overTLS.RoundTrip)),
			"without TLS":       newClient(t, "http://example.com/v1", h2c),
		} {
			for _, method := range methods {
				t.Run(name+"/"+transport+"/"+method, func(t *testing.T) {
					for range 2 { // the second request may use the same connection
						require.Error(t, checkOneRequest(t, s, c, method).err)
					}
				})
			}
		}
	}
}

// http2Ends returns the ways in which a server can end a stream: with each error code below codes,
// and with REFUSED_STREAM, after which net/http would send the request again.
func http2Ends(codes uint32) map[string]func(c *http2Conn, stream uint32) {
	const refusedStream = 7
	ends := map[string]func(c *http2Conn, stream uint32){
		"GOAWAY for all streams": func(c *http2Conn, _ uint32) { c.goAway(1<<31-1, 0); _ = c.conn.Close() },
		"connection closed":      func(c *http2Conn, _ uint32) { _ = c.conn.Close() },
	}
	all := []uint32{refusedStream}
	for code := range codes {
		all = append(all, code)
	}
	responses := map[string][]byte{"nothing": nil, "the header": responseHeaders, "an interim response": earlyHints}
	for _, code := range all {
		for before, header := range responses {
			respond := func(c *http2Conn, stream uint32) {
				if header != nil {
					c.write(frameHeaders, flagEndHeaders, stream, header)
				}
			}
			ends[fmt.Sprintf("RST_STREAM %d after %s", code, before)] = func(c *http2Conn, stream uint32) {
				respond(c, stream)
				c.reset(stream, code)
			}
			ends[fmt.Sprintf("GOAWAY %d without the stream after %s", code, before)] = func(c *http2Conn, stream uint32) {
				respond(c, stream)
				c.goAway(stream-1, code)
			}
		}
		ends[fmt.Sprintf("GOAWAY %d with the stream", code)] = func(c *http2Conn, stream uint32) {
			c.goAway(stream, code)
			_ = c.conn.Close()
		}
	}
	return ends
}

// The frames that the tests need (RFC 9113, section 6).
const (
	frameHeaders   = 1
	frameRSTStream = 3
	frameSettings  = 4
	frameGoAway    = 7

	flagAck        = 1
	flagEndHeaders = 4
)

// The headers of responses, as RFC 7541 encodes them: ":status: 200", which is indexed, and 103.
var (
	responseHeaders = []byte{0x88}
	earlyHints      = []byte("\x08\x03103")
)

// http2Conn is the server's end of a connection. It takes each HEADERS frame for a request and does
// not decode it.
type http2Conn struct {
	conn net.Conn
}

func (c *http2Conn) write(kind, flags byte, stream uint32, payload []byte) {
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
func (c *http2Conn) serve(s *server, end func(c *http2Conn, stream uint32)) {
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

func TestHTTP1SendsOnce(t *testing.T) {
	t.Parallel()
	for good := range 3 { // so many requests of a connection get a response
		handle := func(s *server, conn net.Conn) {
			reader := bufio.NewReader(conn)
			for n := 0; ; n++ {
				if !s.read(reader) || n >= good {
					return
				}
				fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]")
			}
		}
		for _, method := range methods {
			for _, wrapped := range []bool{false, true} {
				t.Run(fmt.Sprintf("closed after %d responses/%s/wrapped: %t", good, method, wrapped), func(t *testing.T) {
					s := serve(t, nil, handle)
					transport := &http.Transport{DialContext: s.dial}
					c := newClient(t, "http://service.test/v1", transport)
					if wrapped {
						c = newClient(t, "http://service.test/v1", roundTripper(transport.RoundTrip))
					}
					const sent = 9
					for range sent {
						checkOneRequest(t, s, c, method)
					}
					transport.CloseIdleConnections()
					s.conns.Wait()
					assert.LessOrEqual(t, s.requests.Load(), int32(sent), "one that arrived later")
				})
			}
		}
	}
}
