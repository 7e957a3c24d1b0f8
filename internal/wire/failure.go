package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/petstore/petstore-go/internal/retry"
)

// KindOf returns the kind of the error of a request that got no response. An unknown error counts
// as a failure of the connection, which may not happen again.
func KindOf(err error, sent bool) retry.Failure {
	if NotHTTP(err) {
		if !sent { // a proxy has refused to connect
			return retry.Permanent
		}
		return retry.Protocol
	}
	if refused, ok := errors.AsType[*proxyError](err); ok && !retry.Status(refused.statusCode).Again {
		return retry.Permanent // a wrong password that is sent again may lock the account of the proxy's user
	}
	dns, _ := errors.AsType[*net.DNSError](err)
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	_, noTLS := errors.AsType[tls.RecordHeaderError](err)
	if dns != nil && dns.IsNotFound || certificate || noTLS || errors.Is(err, errNothing) ||
		containsAny(err.Error(), "unsupported protocol scheme", "server gave HTTP response to HTTPS client",
			"username/password authentication failed") { // the words of a SOCKS proxy
		return retry.Permanent
	}
	return retry.Connection
}

// Cause returns err without the URL that an http.Client puts before it: errors of the client have
// none. If code of a user has wrapped that error, only the text changes.
func Cause(err error) error {
	withURL, ok := errors.AsType[*url.Error](err)
	switch {
	case !ok:
		return err
	case err == error(withURL):
		return withURL.Err
	}
	return &wrapped{strings.ReplaceAll(err.Error(), withURL.Error(), withURL.Err.Error()), err}
}

// wrapped is an error with another text.
type wrapped struct {
	text string
	error
}

func (e *wrapped) Error() string { return e.text }
func (e *wrapped) Unwrap() error { return e.error }

// neverConnected reports whether err shows that there was no connection to write to. A transport
// may join the errors of several requests: then each must show that.
func neverConnected(err error) bool {
	switch e := err.(type) { // this error alone, not those that it wraps
	case *net.OpError:
		if e.Op == "dial" || e.Op == "proxyconnect" || e.Op == "socks connect" {
			return true
		}
	case *proxyError, *tls.CertificateVerificationError, tls.RecordHeaderError:
		return true
	case interface{ Unwrap() []error }:
		joined := e.Unwrap()
		return len(joined) > 0 && !slices.ContainsFunc(joined, func(err error) bool { return !neverConnected(err) })
	}
	inner := errors.Unwrap(err)
	return inner != nil && neverConnected(inner)
}

// NotHTTP reports whether the response was not HTTP. It compares texts, because net/http has no
// exported types for most of these errors.
func NotHTTP(err error) bool {
	if _, ok := errors.AsType[textproto.ProtocolError](err); ok {
		return true
	}
	return containsAny(err.Error(), "malformed HTTP", "malformed MIME header", "bad Content-Length",
		"multiple Content-Length", "transfer encoding", "response headers exceeded",
		"connection error: PROTOCOL_ERROR")
}

func containsAny(s string, substrings ...string) bool {
	return slices.ContainsFunc(substrings, func(sub string) bool { return strings.Contains(s, sub) })
}

// proxyError reports that a proxy refused to connect to the service. net/http alone reports only
// the words of the status, such as Forbidden, as if the service had responded.
type proxyError struct{ statusCode int }

func (e *proxyError) Error() string {
	return "the proxy responded " + strconv.Itoa(e.statusCode) + " " + http.StatusText(e.statusCode) + " to CONNECT"
}

// CheckConnect is the OnProxyConnectResponse of the client's own transport.
func CheckConnect(_ context.Context, _ *url.URL, _ *http.Request, resp *http.Response) error {
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	return &proxyError{resp.StatusCode}
}
