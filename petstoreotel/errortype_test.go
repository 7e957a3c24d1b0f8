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
		{"unavailable", fake.Fault{Status: 503}, 0, "503", "503"},
		{"rate limited by the service", fake.Fault{Status: 429, RetryAfter: "9999"}, 0, "429", "429"},
		{"redirected", fake.Fault{Status: 307}, 0, "", "307"},
		{"undocumented success", fake.Fault{Status: 202}, 0, "", "invalid_response"},
		{"garbage", fake.Fault{Wire: fake.WireGarbage}, 0, "_OTHER", "invalid_response"},
		{"reset", fake.Fault{Wire: fake.WireReset}, 0, "connection_reset", "connection_reset"},
		{"closed", fake.Fault{Wire: fake.WireClose}, 0, "connection_closed", "connection_closed"},
		{"cut off", fake.Fault{Wire: fake.WireTruncate}, 0, "connection_closed", "invalid_response"},
		{"refused", fake.Fault{Wire: fake.WireRefuse, Times: fake.Forever}, 0, "connection_refused", "connection_refused"},
		{"attempt timed out", fake.Fault{Wire: fake.WireStall}, 0, "timeout", "timeout"},
		{"deadline passed", fake.Fault{Wire: fake.WireStall}, time.Second, "timeout", "timeout"},
		{"canceled", fake.Fault{Wire: fake.WireStall}, 0, "canceled", "canceled"},
		{"canceled in the body", fake.Fault{Drip: time.Minute}, 0, "canceled", "canceled"},
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
		"connection_closed":   io.EOF, // the next two are of Windows
		"connection_refused":  &net.OpError{Op: "dial", Err: os.NewSyscallError("connectex", syscall.Errno(10061))},
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
