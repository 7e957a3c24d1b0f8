package wire

import (
	"net/http"
	"time"

	"github.com/hashicorp/go-cleanhttp"
)

// idleConnections is the number of idle connections that the default transport keeps. It talks to
// one host only. With the usual two or three idle connections for a host, 64 goroutines would dial
// for most of their requests.
const idleConnections = 64

// maxHeaderBytes is the size of the longest header that the client accepts; a usual one has less
// than 1 KiB. The default of net/http is ten times as much, and each call in flight could need that
// much memory.
const maxHeaderBytes = 1 << 20

// silence limits three things of an HTTP/2 connection: how long it may be silent until a ping asks
// whether it is alive, how long the response to the ping may take, and how long a write may make no
// progress. Without it, a connection that a firewall has dropped would fail calls for a quarter of
// an hour.
const silence = 15 * time.Second

// DefaultTransport returns the client's own transport.
func DefaultTransport() *http.Transport {
	t := cleanhttp.DefaultPooledTransport()
	t.MaxResponseHeaderBytes = maxHeaderBytes
	t.MaxIdleConns = idleConnections
	t.MaxIdleConnsPerHost = idleConnections
	t.OnProxyConnectResponse = CheckConnect
	t.HTTP2 = &http.HTTP2Config{SendPingTimeout: silence, PingTimeout: silence, WriteByteTimeout: silence}
	return t
}

// Transport has what is known about a transport and matters for sending a request.
type Transport struct {
	plain     bool // it is an http.Transport
	traceable bool // it sends through an http.Transport only
	h2c       bool // it may speak HTTP/2 without TLS
}

// NewTransport returns what is known about t. It follows the method Unwrap that WithTransport
// describes.
func NewTransport(t http.RoundTripper) Transport {
	_, plain := t.(*http.Transport)
	for range 9 { // not for ever: a transport may return itself
		wrapper, ok := t.(interface{ Unwrap() http.RoundTripper })
		if !ok {
			break
		}
		t = wrapper.Unwrap()
	}
	sends, traceable := t.(*http.Transport)
	return Transport{
		plain: plain, traceable: traceable,
		h2c: traceable && sends.Protocols != nil && sends.Protocols.UnencryptedHTTP2(),
	}
}
