package main

import (
	"context"
	"net/http"
	"strings"
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

// One line starts the service.
func TestReport(t *testing.T) {
	server := fake.NewTestServer(t, fake.WithPets(
		petstore.NewPet{Name: "Rex", CategoryID: 1, Status: petstore.PetStatusAvailable},
		petstore.NewPet{Name: "Mimi", CategoryID: 2, Status: petstore.PetStatusSold},
	))
	report, err := Shelter{server.Client()}.Report(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "1 available, 0 pending, 1 sold", report)
}

// The fake fails on demand. In a synctest bubble, the waits between the attempts take no time.
func TestReportDuringAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fake.NewTestServer(t)
		server.Inject(fake.Fault{Operation: petstore.OpListPets, Status: http.StatusServiceUnavailable, Times: 2})
		_, err := Shelter{server.Client()}.Report(t.Context())
		require.NoError(t, err)
		assert.Len(t, server.RequestsOf(petstore.OpListPets), 5, "three lists and two retries")
	})
}

// The worst case of a create: the service adds the pet, but the response is lost.
func TestAdmitWithUnknownOutcome(t *testing.T) {
	server := fake.NewTestServer(t, fake.WithStrict()) // fails the test if a create is repeated
	server.Inject(fake.Fault{Operation: petstore.OpCreatePet, AfterCommit: true, Wire: fake.WireReset})
	pet, err := Shelter{server.Client()}.Admit(t.Context(), "Rex", 1) // the code of yours that is tested
	require.NoError(t, err)
	assert.Equal(t, "Rex", pet.Name)
	assert.Len(t, server.Pets(), 1)
}

// The client waits a minute for the rate limit; in the bubble this takes no time.
func TestReportWaitsForTheNextMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fake.NewTestServer(t, fake.WithPlan(fake.Enterprise(3, 0)), fake.WithStrict())
		shelter, start := Shelter{server.Client()}, time.Now()
		for range 2 {
			_, err := shelter.Report(t.Context())
			require.NoError(t, err)
		}
		assert.GreaterOrEqual(t, time.Since(start), 59*time.Second)
		t.Log("the client waited", time.Since(start), "of virtual time")
		server.AssertNoLimited(t) // no request got a 429
	})
}

// The wait would exceed the deadline: the call fails immediately.
func TestReportWithADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fake.NewTestServer(t, fake.WithPlan(fake.Enterprise(3, 0)))
		shelter := Shelter{server.Client()}
		_, err := shelter.Report(t.Context())
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		start := time.Now()
		_, err = shelter.Report(ctx)
		require.ErrorIs(t, err, petstore.ErrRateLimited)
		assert.Zero(t, time.Since(start))
		server.AssertNoViolations(t)
	})
}

// Each customer of a program with many keys has a budget of its own.
func TestReportForTwoCustomers(t *testing.T) {
	server := fake.NewTestServer(t, fake.WithKey("key-of-the-zoo", fake.Enterprise(3, 0)))
	for _, key := range []string{"key-of-the-zoo", server.APIKey()} {
		_, err := Shelter{server.ClientFor(key)}.Report(t.Context())
		require.NoError(t, err)
	}
	assert.Equal(t, 3, server.Usage("key-of-the-zoo").Minute)
}

func TestRun(t *testing.T) {
	server := fake.NewTestServer(t)
	var out strings.Builder
	require.NoError(t, run(t.Context(), Shelter{server.Client()}, &out))
	assert.Equal(t, "Admitted Rex with id 1\nThe shelter has 1 available, 0 pending, 0 sold\n", out.String())
}
