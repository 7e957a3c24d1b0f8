package petstoreotel_test

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func TestErrorType(t *testing.T) {
	for _, c := range []struct {
		name           string
		fault          fake.Fault
		deadline       time.Duration
		attempt, whole string // error.type of the request and of the call
	}{
		{name: "bad request", fault: fake.Fault{Status: 400}, attempt: "400", whole: "400"},
		{name: "unavailable", fault: fake.Fault{Status: 503}, attempt: "503", whole: "503"},
		{name: "rate limited by the service", fault: fake.Fault{Status: 429, RetryAfter: "9999"}, attempt: "429", whole: "429"},
		{name: "redirected", fault: fake.Fault{Status: 307}, whole: "307"},
		{name: "undocumented success", fault: fake.Fault{Status: 202}, whole: "invalid_response"},
		{name: "garbage", fault: fake.Fault{Wire: fake.WireGarbage}, attempt: "_OTHER", whole: "invalid_response"},
		{name: "reset", fault: fake.Fault{Wire: fake.WireReset}, attempt: "connection_reset", whole: "connection_reset"},
		{name: "closed", fault: fake.Fault{Wire: fake.WireClose}, attempt: "connection_closed", whole: "connection_closed"},
		{name: "cut off", fault: fake.Fault{Wire: fake.WireTruncate}, attempt: "connection_closed", whole: "invalid_response"},
		{name: "refused", fault: fake.Fault{Wire: fake.WireRefuse, Times: fake.Forever}, attempt: "connection_refused", whole: "connection_refused"},
		{name: "attempt timed out", fault: fake.Fault{Wire: fake.WireStall}, attempt: "timeout", whole: "timeout"},
		{name: "deadline passed", fault: fake.Fault{Wire: fake.WireStall}, deadline: time.Second, attempt: "timeout", whole: "timeout"},
		{name: "canceled", fault: fake.Fault{Wire: fake.WireStall}, attempt: "canceled", whole: "canceled"},
		{name: "canceled in the body", fault: fake.Fault{Wire: fake.WireDrip}, attempt: "canceled", whole: "canceled"},
	} {
		t.Run(c.name, func(t *testing.T) {
			recorded(t, func(t *testing.T, s *harness) {
				s.server.Inject(c.fault)
				ctx, cancel := context.WithCancelCause(t.Context())
				if c.whole == "canceled" {
					time.AfterFunc(time.Second, func() { cancel(errors.New("the user has left")) })
				}
				ctx, stop := context.WithTimeoutCause(ctx, cmp.Or(c.deadline, time.Hour), errors.New("too slow"))
				defer stop()
				_, err := s.client.CreatePet(ctx, petstore.NewPet{Name: "Rex"})
				require.Error(t, err)

				spans := s.ended()
				assertFailed(t, c.attempt, spans[0])
				assertFailed(t, c.whole, spans[len(spans)-1])
				for attributes := range s.histogram(metricRequestDuration) {
					class, _ := attributes.Value(semconv.ErrorTypeKey)
					assert.Equal(t, c.attempt, class.String())
				}
				cancel(nil)
			})
		})
	}
}

// assertFailed asserts that a span failed with this error.type, or that it did not if that is
// empty.
func assertFailed(t *testing.T, errorType string, span sdktrace.ReadOnlySpan) {
	t.Helper()
	assert.Equal(t, errorType, value(span, semconv.ErrorTypeKey), span.Name())
	want := sdktrace.Status{}
	if errorType != "" {
		want.Code = codes.Error
	}
	assert.Equal(t, want, span.Status(), span.Name())
}

func TestErrorTypeOfTransportErrors(t *testing.T) {
	for want, err := range map[string]error{
		"timeout":             &net.OpError{Op: "dial", Err: &net.DNSError{IsTimeout: true}},
		"name_resolution":     &net.OpError{Op: "dial", Err: &net.DNSError{IsNotFound: true}},
		"certificate":         &tls.CertificateVerificationError{Err: errors.New("expired")},
		"connection_closed":   io.EOF,
		"connection_refused":  &net.OpError{Op: "dial", Err: os.NewSyscallError("connectex", syscall.Errno(10061))}, // on Windows
		"connection_reset":    &net.OpError{Op: "read", Err: os.NewSyscallError("wsarecv", syscall.Errno(10054))},
		"tls.AlertError":      &net.OpError{Op: "remote error", Err: tls.AlertError(40)},
		"petstoreotel_test.x": fmt.Errorf("wrapped: %w", x("anything")),
		"_OTHER":              errors.New("anything"),
	} {
		t.Run(want, func(t *testing.T) {
			recorded(t, func(t *testing.T, s *harness) {
				client := s.newClient(over(func(*http.Request) (*http.Response, error) { return nil, err }))
				_, failed := client.CreatePet(t.Context(), petstore.NewPet{Name: "Rex"}, petstore.WithRetryPolicy(
					petstore.RetryPolicy{MaxAttempts: 1}))
				require.Error(t, failed)
				for _, span := range s.ended() {
					assertFailed(t, want, span)
				}
			})
		})
	}
}

type x string

func (e x) Error() string { return string(e) }
