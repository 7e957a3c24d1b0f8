package petstore

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
)

// proxyError is a proxy's refusal to connect to the service. net/http alone would report no more than the words of
// the status, such as Forbidden, which read as if the service had responded.
type proxyError struct{ statusCode int }

func (e *proxyError) Error() string {
	return "the proxy responded " + strconv.Itoa(e.statusCode) + " " + http.StatusText(e.statusCode) + " to CONNECT"
}

// mayPass reports whether the proxy may connect the next time. It will not after a 407: a wrong password sent again
// and again may lock the account of the proxy's user.
func (e *proxyError) mayPass() bool {
	return transientStatus(e.statusCode) || e.statusCode == http.StatusTooManyRequests
}

// checkConnect is the OnProxyConnectResponse of the client's own transport.
func checkConnect(_ context.Context, _ *url.URL, _ *http.Request, resp *http.Response) error {
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	return &proxyError{resp.StatusCode}
}
