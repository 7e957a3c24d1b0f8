// Package wire has the client's own transport, and says what the errors of net/http mean for the
// request that got them.
package wire

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/hashicorp/go-cleanhttp"
)

// DefaultTransport returns the client's own transport.
func DefaultTransport() *http.Transport {
	t := cleanhttp.DefaultPooledTransport()
	// go-cleanhttp keeps GOMAXPROCS + 1 idle connections for a host. With so few, 64 goroutines
	// would dial for most of their requests.
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 64, 64
	t.MaxResponseHeaderBytes = 1 << 20 // a usual header has less than 1 KiB
	t.OnProxyConnectResponse = checkConnect
	// After 15 s of silence, net/http pings an HTTP/2 connection. A ping or a write may take as
	// long. Without a ping, a dead connection would fail calls for a quarter of an hour.
	const silence = 15 * time.Second
	t.HTTP2 = &http.HTTP2Config{SendPingTimeout: silence, PingTimeout: silence, WriteByteTimeout: silence}
	return t
}

// proxyError reports that a proxy refused to connect to the service. net/http alone reports only
// the words of the status, such as Forbidden, as if the service had responded.
type proxyError struct{ statusCode int }

func (e *proxyError) Error() string {
	return "the proxy responded " + strconv.Itoa(e.statusCode) + " " + http.StatusText(e.statusCode) + " to CONNECT"
}

func checkConnect(_ context.Context, _ *url.URL, _ *http.Request, resp *http.Response) error {
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	return &proxyError{resp.StatusCode}
}
