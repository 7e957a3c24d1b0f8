package petstore_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/internal/loopback"
)

func TestTransportErrorSent(t *testing.T) {
	t.Run("is true for a read with a response before its backoff was cancelled", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			client, _ := scripted(t, []responder{status(503, "")})
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errors.New("gone"))
			defer cancel()
			time.AfterFunc(10*time.Millisecond, cancel)
			_, err := client.ListPets(ctx, petstore.ListPetsParams{})
			failed, ok := errors.AsType[*petstore.TransportError](err)
			require.True(t, ok, "%T", err)
			assert.True(t, failed.Sent)
		})
	})
	t.Run("does not make the outcome of a create unknown after a 429", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			broken := &brokenLimiter{Limiter: petstore.NewLimiter()}
			client, _ := scripted(t, []responder{status(429, "", "Retry-After: 1")}, petstore.WithLimiter(broken))
			_, err := client.CreatePet(t.Context(), newPet())
			failed, ok := errors.AsType[*petstore.TransportError](err)
			require.True(t, ok, "%T", err)
			assert.True(t, failed.Sent)
			assert.NotErrorIs(t, err, petstore.ErrOutcomeUnknown)
			assert.ErrorIs(t, err, petstore.ErrRateLimited)
		})
	})
	t.Run("is true if a registered protocol may have written it", func(t *testing.T) {
		for name, err := range map[string]error{
			"lost": io.EOF, "refused in the end": errRefused, "left to the transport, which is refused": http.ErrSkipAltProtocol,
		} {
			lost := responder(func(r *http.Request) (*http.Response, error) {
				_, _ = io.Copy(io.Discard, r.Body)
				return nil, err
			})
			for _, scheme := range []string{"http", "https"} {
				registers := func(rt http.RoundTripper) http.RoundTripper {
					transport := rt.(*http.Transport)
					transport.DialContext = func(context.Context, string, string) (net.Conn, error) { return nil, errRefused }
					transport.RegisterProtocol(scheme, lost)
					return transport
				}
				for _, option := range []petstore.Option{
					petstore.WithHTTPClient(&http.Client{Transport: registers(new(http.Transport))}),
					petstore.WithTransport(registers),
				} {
					client, err := petstore.NewClient(scheme+"://127.0.0.1/v1", testKey, option, petstore.WithRetryPolicy(quick))
					require.NoError(t, err)
					assert.ErrorIs(t, create(client), petstore.ErrOutcomeUnknown, "%s over %s", name, scheme)
				}
			}
		}
	})
}

func TestTransportErrorDialTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial := &net.OpError{Op: "dial", Net: "tcp", Err: context.DeadlineExceeded}
		client, _ := scripted(t, []responder{fails(dial)})
		_, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
		require.NotErrorIs(t, err, context.DeadlineExceeded)
		assert.ErrorContains(t, err, "deadline exceeded (4 attempts)")
	})
}

func TestTransportErrorCertificate(t *testing.T) {
	loopback.Need(t)
	var handshakes atomic.Int32
	server := httptest.NewUnstartedServer(nil)
	server.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		handshakes.Add(1)
		return nil, nil
	}}
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	server.StartTLS()
	t.Cleanup(server.Close)
	client, err := petstore.NewClient(server.URL+"/v1", testKey, petstore.WithRetryPolicy(quick))
	require.NoError(t, err)
	_, err = client.CreatePet(t.Context(), newPet())
	_, ok := errors.AsType[*tls.CertificateVerificationError](err)
	assert.True(t, ok, "%v", err)
	require.NotErrorIs(t, err, petstore.ErrOutcomeUnknown)
	assert.EqualValues(t, 1, handshakes.Load())
}

func TestResponseErrorNotHTTP(t *testing.T) {
	t.Run("for bytes that are not HTTP", func(t *testing.T) {
		server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if assert.NoError(t, err) {
				_, _ = io.WriteString(conn, "220 mail.test ESMTP\r\n\r\n")
				_ = conn.Close()
			}
		})
		for operation, call := range calls(clientOf(t, server)) {
			err := call(t)
			require.ErrorIs(t, err, petstore.ErrInvalidResponse, operation)
			assert.Equal(t, operation == "createPet", errors.Is(err, petstore.ErrOutcomeUnknown))
		}
	})
	t.Run("for bytes that arrive as the attempt times out", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			late := responder(func(*http.Request) (*http.Response, error) {
				time.Sleep(2 * time.Second)
				return nil, errors.New(`malformed HTTP response "220 mail.test ESMTP"`)
			})
			client, service := scripted(t, []responder{late}, petstore.WithAttemptTimeout(time.Second))
			_, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
			require.ErrorIs(t, err, petstore.ErrInvalidResponse)
			assert.Len(t, service.sent(), 1)
		})
	})
	t.Run("for a status that is not final", func(t *testing.T) {
		for _, code := range []string{"000", "001", "099", "101"} {
			server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				conn, _, err := http.NewResponseController(w).Hijack()
				if assert.NoError(t, err) {
					_, _ = io.WriteString(conn, "HTTP/1.1 "+code+" \r\n\r\n[]")
					_ = conn.Close()
				}
			})
			for operation, call := range calls(clientOf(t, server)) {
				err := call(t)
				require.ErrorIs(t, err, petstore.ErrInvalidResponse, operation)
				assert.ErrorContains(t, err, "petstore: "+operation+": invalid response: not HTTP: malformed HTTP response: status "+code)
				assert.Equal(t, operation == "createPet", errors.Is(err, petstore.ErrOutcomeUnknown))
			}
		}
	})
}
