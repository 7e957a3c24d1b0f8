package fake_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/fakecontrol"
)

func TestRequestsOf(t *testing.T) {
	srv := fake.NewTestServer(t, fake.WithKey("second-key", fake.PlanFree))
	d := viaTransport(t, srv)
	d.list(t)
	_, err := srv.ClientFor("second-key").CreatePet(t.Context(), petstore.NewPet{Name: "Rex", CategoryID: 7})
	require.NoError(t, err)
	d.send(t, request{path: "/pets", body: "{}"})
	creates := srv.RequestsOf(petstore.OpCreatePet)
	require.Len(t, creates, 2)
	assert.Equal(t, fakecontrol.Of(srv).KeyNumber("second-key"), creates[0].Key)
	pet, err := creates[0].NewPet()
	require.NoError(t, err)
	assert.Equal(t, petstore.NewPet{Name: "Rex", CategoryID: 7}, pet)
	_, err = creates[1].NewPet()
	require.EqualError(t, err, "fake: request #3: the required fields name and categoryId are missing")
	assert.Len(t, srv.RequestsOf(""), 3)
	assert.Empty(t, srv.RequestsOf(petstore.OpGetPet))
}

func TestWaitForRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := fake.NewTestServer(t)
		require.NoError(t, srv.WaitForRequests(t.Context(), 0))
		start := time.Now()
		go func() {
			for range 3 {
				time.Sleep(time.Second)
				_, err := srv.Client().ListPets(t.Context(), petstore.ListPetsParams{})
				assert.NoError(t, err)
			}
		}()
		require.NoError(t, srv.WaitForRequests(t.Context(), 2))
		assert.Equal(t, 2*time.Second, time.Since(start))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := srv.WaitForRequests(ctx, 4)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.EqualError(t, err, "fake: 3 of 4 requests arrived: context deadline exceeded")
	})
}
