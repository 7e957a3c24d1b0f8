package petstore_test

import (
	"bytes"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func TestWithAttemptTimeoutDrippingBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := fake.NewTestServer(t)
		srv.Inject(fake.Fault{Wire: fake.WireDrip, Times: fake.Forever, Body: bytes.Repeat([]byte(" "), 1000)}) // for 100 seconds
		client := srv.Client(petstore.WithLimiter(nil), petstore.WithAttemptTimeout(2*time.Second))
		start := time.Now()
		_, err := client.CreatePet(t.Context(), newPet())
		require.ErrorIs(t, err, petstore.ErrOutcomeUnknown)
		assert.Equal(t, 2*time.Second, time.Since(start), "a create has one attempt")

		start = time.Now()
		_, err = client.ListPets(t.Context(), petstore.ListPetsParams{}, petstore.WithCallTimeout(3*time.Second))
		require.Error(t, err)
		assert.Equal(t, 3*time.Second, time.Since(start), "the call's timeout ends the second attempt of a list")
	})
}

func TestResponseHeaderLimit(t *testing.T) {
	var asked atomic.Int32
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Header().Set("X-Flood", strings.Repeat("x", 2<<20))
		respondJSON(w, 200, `[]`)
	})
	client, err := petstore.NewClient(server.URL+"/v1", testKey, petstore.WithRetryPolicy(quick))
	require.NoError(t, err)
	err = list(client)
	require.ErrorIs(t, err, petstore.ErrInvalidResponse)
	require.ErrorContains(t, err, "response headers exceeded 1048576 bytes")
	assert.EqualValues(t, 1, asked.Load())
}
