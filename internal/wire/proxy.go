package wire

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/petstore/petstore-go/internal/retry"
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
	return retry.Status(e.statusCode).Again
}

// refusedByProxy reports whether a proxy refused to connect and would again, by the error of a
// transport without CheckConnect: it has only the words of the status, and the proxy may choose
// others. The error of a dial to a proxy is another one, a *net.OpError.
func (w *Record) refusedByProxy(err error, r *http.Request) bool {
	if refused, ok := errors.AsType[*proxyError](err); ok {
		return !refused.mayPass()
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Op == "socks connect" && containsAny(op.Error(), "authentication")
	}
	if errors.Unwrap(err) != nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return false
	}
	for code := http.StatusMultipleChoices; code < 600; code++ {
		if words := http.StatusText(code); words != "" && strings.EqualFold(err.Error(), words) {
			return !retry.Status(code).Again
		}
	}
	_, network := errors.AsType[net.Error](err)
	return !network && w.asked.Load() && !w.connected.Load() && w.transport.proxied(r)
}

// proxied reports whether t connects through a proxy for r, if it can be seen.
func (t *Transport) proxied(r *http.Request) bool {
	if t.proxy == nil {
		return false
	}
	proxy, err := t.proxy(r)
	return err == nil && proxy != nil
}

// CheckConnect is the OnProxyConnectResponse of the client's own transport.
func CheckConnect(_ context.Context, _ *url.URL, _ *http.Request, resp *http.Response) error {
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	return &proxyError{resp.StatusCode}
}
