package shelter

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake.NewTestServer starts the service with these two pets.
func TestAvailable(t *testing.T) {
	server := fake.NewTestServer(t, fake.WithPets(
		petstore.NewPet{Name: "Rex", CategoryID: 1, Status: petstore.PetStatusAvailable},
		petstore.NewPet{Name: "Mimi", CategoryID: 2, Status: petstore.PetStatusSold},
	))
	count, err := Shelter{server.Client()}.Available(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 1, count)
}

// Inject makes the fake fail twice. In a synctest bubble, waits between the attempts take no time.
func TestAvailable_duringAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fake.NewTestServer(t)
		server.Inject(fake.Fault{Operation: petstore.OpListPets, Status: http.StatusServiceUnavailable, Times: 2})
		_, err := Shelter{server.Client()}.Available(t.Context())
		require.NoError(t, err)
		assert.Len(t, server.RequestsOf(petstore.OpListPets), 3, "two retries")
	})
}

// The client waits a minute for the rate limit; in the bubble this takes no time.
func TestAvailable_waitsForTheNextMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fake.NewTestServer(t, fake.WithPlan(fake.Plan{PerMinute: 3}), fake.WithStrict())
		shelter, start := Shelter{server.Client()}, time.Now()
		for range 4 {
			_, err := shelter.Available(t.Context())
			require.NoError(t, err)
		}
		assert.GreaterOrEqual(t, time.Since(start), 59*time.Second)
		assert.Zero(t, server.Usage(server.APIKey()).Limited, "no request got a 429")
	})
}

// The worst case of a create: the service adds the pet, but the response is lost.
func TestAdmit_unknownOutcome(t *testing.T) {
	server := fake.NewTestServer(t, fake.WithStrict()) // fails the test if a create is repeated
	server.Inject(fake.Fault{Operation: petstore.OpCreatePet, AfterCommit: true, Wire: fake.WireReset})
	_, err := Shelter{server.Client()}.Admit(t.Context(), "Rex") // your code under test
	require.ErrorIs(t, err, ErrLook)
	assert.Len(t, server.Pets(), 1)
}
