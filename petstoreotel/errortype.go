package petstoreotel

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"syscall"

	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/petstore/petstore-go"
)

// errorType is the class of the error of a call or a request, never its text, which may contain
// anything, such as a URL or the API key. An error matches several classes; the first of them ended
// the call.
func errorType(err error) string {
	if class := contextErrorType(err); class != "" {
		return class
	}
	refused, ok := errors.AsType[*petstore.APIError](err)
	switch {
	case ok:
		return strconv.Itoa(refused.StatusCode)
	case errors.Is(err, petstore.ErrRateLimited):
		return "rate_limited"
	case errors.Is(err, petstore.ErrInvalidResponse):
		return "invalid_response"
	}
	return transportErrorType(err)
}

func contextErrorType(err error) string {
	switch {
	case errors.Is(err, petstore.ErrStopped):
		return "stopped"
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, petstore.ErrTimeout):
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

func transportErrorType(err error) string {
	timeout, ok := errors.AsType[net.Error](err)
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
