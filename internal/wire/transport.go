package wire

import (
	"net/http"
	"time"

	"github.com/hashicorp/go-cleanhttp"
)

// idleConnections is the number of idle connections that the default transport keeps. It talks to
// one host only, and with the usual two or three per host, 64 goroutines would dial most of the
// time.
const idleConnections = 64

// maxHeaderBytes is the size of the longest header that the client accepts; a usual one has less
// than 1 KiB. The default of net/http is ten times as much, which each concurrent call could take.
const maxHeaderBytes = 1 << 20

// silence is for how long a connection of HTTP/2 may be silent, until a ping asks whether it is
// alive, for the response to that, and for a write that goes on: a connection that a firewall
// dropped would otherwise fail calls for a quarter of an hour.
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

// Transport has what the sending of a request depends on.
type Transport struct {
	plain     bool // it is an http.Transport
	traceable bool // it sends through an http.Transport only
	h2c       bool // it may speak HTTP/2 without TLS
}

// NewTransport returns what is known about t, which may have the Unwrap method that WithTransport
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
