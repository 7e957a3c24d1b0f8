package petstore

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
)

// proxyError reports that a proxy refused to connect to the service. net/http alone reports only
// the words of the status, such as Forbidden, as if the service had responded.
type proxyError struct{ statusCode int }

func (e *proxyError) Error() string {
	return "the proxy responded " + strconv.Itoa(e.statusCode) + " " + http.StatusText(e.statusCode) + " to CONNECT"
}

// mayPass reports whether the proxy may connect at the next attempt. After a 407 it will not, and a
// wrong password that is sent again may lock the account of the proxy's user.
func (e *proxyError) mayPass() bool {
	return transientStatus(e.statusCode)
}

// checkConnect is the OnProxyConnectResponse of the client's own transport.
func checkConnect(_ context.Context, _ *url.URL, _ *http.Request, resp *http.Response) error {
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	return &proxyError{resp.StatusCode}
}
