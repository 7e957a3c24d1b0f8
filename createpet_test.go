package petstore_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
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
	client := loopback(t, server)
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
				server.Inject(fake.Fault{Wire: wire, AfterCommit: true, Operation: fake.OpCreatePet})
				_, err := client.CreatePet(t.Context(), newPet())
				require.ErrorIs(t, err, petstore.ErrOutcomeUnknown, "wire %d", wire)
				require.NotErrorIs(t, err, context.DeadlineExceeded)
				assert.Len(t, server.Pets(), 1)
			})
		})
	}
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
