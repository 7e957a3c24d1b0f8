package wire

import (
	"net/http"
	"net/url"

	"github.com/hashicorp/go-cleanhttp"
)

// idleConnections is the number of idle connections that the default transport keeps. It talks to
// one host only, and with the usual two or three per host, 64 goroutines would dial most of the
// time.
const idleConnections = 64

// maxHeaderBytes is the size of the longest header that the client accepts; a usual one has less
// than 1 KiB. The default of net/http is ten times as much, which each concurrent call could take.
const maxHeaderBytes = 1 << 20

// DefaultTransport returns the client's own transport.
func DefaultTransport() *http.Transport {
	t := cleanhttp.DefaultPooledTransport()
	t.MaxResponseHeaderBytes = maxHeaderBytes
	t.MaxIdleConns = idleConnections
	t.MaxIdleConnsPerHost = idleConnections
	t.OnProxyConnectResponse = CheckConnect
	return t
}

// Transport has what the sending of a request depends on.
type Transport struct {
	own       bool // it is the client's own, unchanged
	plain     bool // it is an http.Transport
	traceable bool // it calls the hooks of httptrace
	proxy     func(*http.Request) (*url.URL, error)
}

// NewTransport returns what is known about t. own is whether t is the client's own, unchanged.
func NewTransport(t http.RoundTripper, own bool) Transport {
	_, plain := t.(*http.Transport)
	found := Transport{own: own, plain: plain}
	if sends := httpTransport(t); sends != nil {
		found.traceable, found.proxy = true, sends.Proxy
	}
	return found
}

// MayUseHTTP2 reports whether the first request to u may go over HTTP/2. That of a transport which
// speaks it without TLS shows in the first response only.
func (t *Transport) MayUseHTTP2(u *url.URL) bool {
	return t.traceable && u.Scheme == "https"
}

// httpTransport returns t if it is an http.Transport, or the one that it wraps if it has the Unwrap
// method that WithTransport describes; else nil.
func httpTransport(t http.RoundTripper) *http.Transport {
	for range 100 { // not for ever: a transport may return itself
		wrapper, ok := t.(interface{ Unwrap() http.RoundTripper })
		if !ok {
			break
		}
		t = wrapper.Unwrap()
	}
	found, _ := t.(*http.Transport)
	return found
}
