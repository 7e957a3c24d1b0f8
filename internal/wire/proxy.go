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

// refusedByProxy reports whether a proxy refused to connect and would again: a wrong password that
// is sent again may lock the account of the proxy's user. The error of a transport without
// CheckConnect has only the words of the status, and the proxy may choose others. The error of a
// dial to a proxy is another one, a *net.OpError.
func (w *Record) refusedByProxy(err error, u *url.URL) bool {
	if refused, ok := errors.AsType[*proxyError](err); ok {
		return !retry.Status(refused.statusCode).Again
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Op == "socks connect" && containsAny(op.Error(), "authentication")
	}
	if errors.Unwrap(err) != nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return false
	}
	if code := statusOf(err.Error()); code != 0 {
		return !retry.Status(code).Again
	}
	_, network := errors.AsType[net.Error](err)
	return !network && w.asked.Load() && !w.connected.Load() && w.goesThroughProxy(u)
}

// statusOf returns the status of an error whose words are given, 0 if they are others.
func statusOf(words string) int {
	for code := range 600 {
		if text := http.StatusText(code); text != "" && strings.EqualFold(words, text) {
			return code
		}
	}
	return 0
}

// CheckConnect is the OnProxyConnectResponse of the client's own transport.
func CheckConnect(_ context.Context, _ *url.URL, _ *http.Request, resp *http.Response) error {
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	return &proxyError{resp.StatusCode}
}
