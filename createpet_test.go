package petstore_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/loopback"
)

func TestCreatePetNotWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over := make(chan struct{})
		defer close(over)
		transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			<-over // the network drops all packets; net/http continues the dial for a later request
			return nil, io.EOF
		}}
		client, err := petstore.NewClient("http://127.0.0.1:9/v1", testKey, petstore.WithLimiter(nil),
			petstore.WithHTTPClient(&http.Client{Transport: transport}))
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = client.CreatePet(ctx, newPet())
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NotErrorIs(t, err, petstore.ErrOutcomeUnknown)

		start := time.Now()
		_, err = client.CreatePet(t.Context(), newPet(), petstore.WithAttemptTimeout(time.Second))
		require.NotErrorIs(t, err, context.DeadlineExceeded)
		require.NotErrorIs(t, err, petstore.ErrOutcomeUnknown)
		assert.Greater(t, time.Since(start), 4*time.Second, "a request that was not written is sent again")
	})
}

func TestCreatePetCutOff(t *testing.T) {
	loopback.Need(t)
	var posts atomic.Int32
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.Method == http.MethodGet {
			respondJSON(w, 200, `[]`)
			return
		}
		posts.Add(1)
		conn, _, err := http.NewResponseController(w).Hijack()
		if assert.NoError(t, err) {
			_ = conn.(*net.TCPConn).SetLinger(0)
			_ = conn.Close()
		}
	})
	client := clientOf(t, server)
	_, err := client.ListPets(t.Context(), petstore.ListPetsParams{}) // so that the connection was used before
	require.NoError(t, err)
	_, err = client.CreatePet(t.Context(), newPet())
	require.ErrorIs(t, err, petstore.ErrOutcomeUnknown)
	assert.EqualValues(t, 1, posts.Load())
}

func TestCreatePetResponseLost(t *testing.T) {
	for _, wire := range []fake.Wire{fake.WireReset, fake.WireClose, fake.WireTruncate, fake.WireGarbage, fake.WireStall} {
		t.Run(wire.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := fake.NewTestServer(t, fake.WithStrict())
				client := server.Client()
				require.NoError(t, list(client), "so that the connection was used before")
				server.Inject(fake.Fault{Wire: wire, AfterCommit: true, Operation: petstore.OpCreatePet})
				_, err := client.CreatePet(t.Context(), newPet())
				require.ErrorIs(t, err, petstore.ErrOutcomeUnknown, "wire %d", wire)
				require.NotErrorIs(t, err, context.DeadlineExceeded)
				assert.Len(t, server.Pets(), 1)
			})
		})
	}
}

// TestCreatePetStatus checks for each status what an error says about the create, whatever happens
// to the body of the response.
func TestCreatePetStatus(t *testing.T) {
	var during context.Context // what the body waits for
	for name, read := range map[string]func(attempt context.Context) error{
		"whole":                       func(context.Context) error { return io.EOF },
		"reset":                       func(context.Context) error { return errReset },
		"malformed":                   func(context.Context) error { return errors.New("malformed MIME header line: x") },
		"stalled in the attempt":      func(attempt context.Context) error { <-attempt.Done(); return attempt.Err() },
		"stalled in the caller's ctx": func(context.Context) error { <-during.Done(); return during.Err() },
	} {
		for code := 200; code < 600; code++ {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				during = ctx //nolint:fatcontext // the context of this bubble
				client, service := scripted(t, []responder{func(r *http.Request) (*http.Response, error) {
					return response(r, code, failingReader{func() error { return read(r.Context()) }}), nil
				}})
				_, err := client.CreatePet(ctx, newPet(), petstore.WithAttemptTimeout(time.Second-1),
					petstore.WithRetryPolicy(petstore.RetryPolicy{MaxAttempts: 1}))
				refused := code/100 == 4 && code != http.StatusRequestTimeout || code == http.StatusNotImplemented
				require.Equal(t, !refused, errors.Is(err, petstore.ErrOutcomeUnknown), "%s, %d: %v", name, code, err)
				want := map[bool]int{true: 0, false: 1}[refused]
				require.Equal(t, want, strings.Count(err.Error(), "the pet may have been created"), "%v", err)
				require.Equal(t, during.Err() != nil, errors.Is(err, context.DeadlineExceeded), "%v", err)
				require.Equal(t, code == http.StatusTooManyRequests, errors.Is(err, petstore.ErrRateLimited), "%v", err)
				require.Equal(t, code == http.StatusNotFound, errors.Is(err, petstore.ErrNotFound), "%v", err)
				require.Len(t, service.sent(), 1)
			})
		}
	}
}

// An errgroup ends the contexts of the others with the error of one call as the cause.
func TestCreatePetEndedByAnotherCall(t *testing.T) {
	another := func(respond responder, opts ...petstore.Option) error {
		client, _ := scripted(t, []responder{respond}, opts...)
		return create(client)
	}
	for name, cause := range map[string]error{
		"refused": another(status(400, "")), "limited": another(status(429, ""), petstore.WithMaxWait(0)),
		"lost": another(status(503, "")), "not sent": another(fails(errRefused)), "cancelled": context.Canceled,
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		client, _ := scripted(t, []responder{func(r *http.Request) (*http.Response, error) {
			cancel(cause)
			return hangs(r)
		}})
		_, err := client.CreatePet(ctx, newPet())
		require.ErrorIs(t, err, cause, name)
		require.ErrorIs(t, err, petstore.ErrOutcomeUnknown, name)
		require.NotErrorIs(t, err, petstore.ErrNotSent, name)
		assert.Equal(t, 1, strings.Count(err.Error(), "the pet may have been created"), "%v", err)

		_, err = client.CreatePet(ctx, newPet()) // not sent
		assert.NotContains(t, strings.TrimSuffix(err.Error(), cause.Error()), "the pet may have been created", name)
		require.ErrorIs(t, err, petstore.ErrNotSent, name)
		require.NotErrorIs(t, err, petstore.ErrOutcomeUnknown, name)
	}
	err := withKeyFunc(t, "", petstore.ErrOutcomeUnknown)
	assert.NotContains(t, err.Error(), "the pet may have been created")
}

func TestCreatePetCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, service := scripted(t, []responder{hangs})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := client.CreatePet(ctx, newPet())
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, petstore.ErrOutcomeUnknown)

		_, err = client.CreatePet(ctx, newPet()) // the context has already ended
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NotErrorIs(t, err, petstore.ErrOutcomeUnknown)
		require.NotErrorIs(t, err, petstore.ErrRateLimited)
		assert.Len(t, service.sent(), 1)

		ctx, cancel = context.WithCancel(t.Context())
		time.AfterFunc(100*time.Millisecond, cancel)
		client, _ = scripted(t, []responder{fails(errRefused)})
		_, err = client.CreatePet(ctx, newPet()) // in the backoff after a dial that failed
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, syscall.ECONNREFUSED)
		require.NotErrorIs(t, err, petstore.ErrOutcomeUnknown)
	})
}
