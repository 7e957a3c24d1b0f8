package wire

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"reflect"
	"slices"
	"strings"
	"syscall"
)

// IsDial reports whether err says that there was no connection to write to. It does not look into
// joined errors, because these may be about several requests.
func IsDial(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		op, ok := err.(*net.OpError)
		if ok && (op.Op == "dial" || op.Op == "proxyconnect" || op.Op == "socks connect") {
			return true
		}
	}
	return false
}

// IsUnprocessed reports whether err says that the server has not processed the request although
// there was a connection:
//
//   - Nothing was written, because the connection was lost first.
//   - The server ended an HTTP/2 connection without processing the request's stream, or refused it
//     (RFC 9113, sections 6.8 and 8.7). A PROTOCOL_ERROR does not say whether the server
//     has processed the request.
//   - The server refused our certificate.
//
// It compares texts, because net/http exports no errors for the first two cases. It compares each
// text from its beginning, because other errors quote what the server sent.
func IsUnprocessed(err error) bool {
	if isCertificateRefused(err) {
		return true
	}
	for ; err != nil; err = errors.Unwrap(err) {
		text, refusal := strings.CutPrefix(err.Error(), "http2: Transport: cannot retry err [")
		switch {
		case fmt.Sprintf("%T", err) == "http.nothingWrittenError",
			text == "net/http: cannot rewind body after connection loss",
			text == "http: server closed idle connection", // before the request; after it, the error is EOF
			strings.HasPrefix(text, "http2: client conn could not be established"),
			strings.HasPrefix(text, "http2: Transport received GOAWAY from server"), // before stream 1
			refusal && containsAny(text, "REFUSED_STREAM", "GOAWAY"):
			return true
		}
	}
	return false
}

// isCertificateRefused reports whether the server refused the client's certificate. With TLS 1.3,
// the client learns that only after it has sent the request (RFC 8446, section 6.2).
func isCertificateRefused(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	if !ok || op.Op != "remote error" {
		return false
	}
	alert := reflect.ValueOf(op.Err) // tls.alert, which is not exported
	return alert.Kind() == reflect.Uint8 && (alert.Uint() >= 42 && alert.Uint() <= 49 || alert.Uint() == 116)
}

// IsPermanent reports whether another attempt would fail in the same way.
func IsPermanent(err error) bool {
	// A wrong password that is sent again may lock the account of the proxy's user.
	if refused, ok := errors.AsType[*proxyError](err); ok && refused.statusCode < http.StatusInternalServerError {
		return true
	}
	dns, _ := errors.AsType[*net.DNSError](err)
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	_, noTLS := errors.AsType[tls.RecordHeaderError](err)
	return dns != nil && dns.IsNotFound || certificate || noTLS || isCertificateRefused(err) ||
		containsAny(err.Error(), "unsupported protocol scheme", "server gave HTTP response to HTTPS client",
			"username/password authentication failed", // by a SOCKS proxy
			"Proxy Authentication Required")           // by an HTTP proxy, on a transport without checkConnect
}

// IsNotHTTP reports whether the response was not HTTP. It compares texts, because net/http has no
// exported types for most of these errors.
func IsNotHTTP(err error) bool {
	_, ok := errors.AsType[textproto.ProtocolError](err)
	return ok || containsAny(err.Error(), "malformed HTTP", "malformed MIME header", "bad Content-Length",
		"multiple Content-Length", "transfer encoding", "response headers exceeded",
		"connection error: PROTOCOL_ERROR")
}

func containsAny(text string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) })
}

// Class returns a word for the error of a request that got no response; _OTHER if no word fits. It
// never returns the text of the error: each text would be a class of its own.
func Class(err error) string {
	network, ok := errors.AsType[net.Error](err)
	_, dns := errors.AsType[*net.DNSError](err)
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	matches := func(target error) bool { return errors.Is(err, target) }
	switch {
	case matches(syscall.ECONNREFUSED), matches(syscall.Errno(10061)): // its number on Windows
		return "connection_refused"
	case matches(syscall.ECONNRESET), matches(syscall.Errno(10054)):
		return "connection_reset"
	case matches(io.EOF), matches(io.ErrUnexpectedEOF):
		return "connection_closed"
	case ok && network.Timeout():
		return "timeout"
	case dns:
		return "name_resolution"
	case certificate:
		return "certificate"
	}
	return "_OTHER"
}
