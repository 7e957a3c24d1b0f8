package petstoreotel

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
)

// attemptErrorType is the class of the error of a request. A transport may return the cause of a
// context's end instead of its error, so that the context is examined first.
func attemptErrorType(ctx context.Context, err error) string {
	return cmp.Or(contextErrorType(ctx.Err()), contextErrorType(err), errorType(err))
}

func contextErrorType(err error) string {
	switch {
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	}
	return ""
}

// The numbers of a socket's errors on Windows, where the constants of package syscall are others. No
// other system has errors of these numbers.
const (
	errWSAConnReset   = syscall.Errno(10054)
	errWSAConnRefused = syscall.Errno(10061)
)

// errorType is the class of err, never its text, which may hold anything, such as a URL or the API
// key.
func errorType(err error) string {
	timeout, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	_, dns := errors.AsType[*net.DNSError](err)
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	switch {
	case ok && timeout.Timeout():
		return "timeout"
	case dns:
		return "name_resolution"
	case certificate:
		return "certificate"
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, errWSAConnRefused):
		return "connection_refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, errWSAConnReset):
		return "connection_reset"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "connection_closed"
	}
	for cause := errors.Unwrap(err); cause != nil; cause = errors.Unwrap(err) {
		err = cause
	}
	if name := fmt.Sprintf("%T", err); name != "*errors.errorString" { // which says nothing
		return name
	}
	return semconv.ErrorTypeOther.Value.AsString()
}
