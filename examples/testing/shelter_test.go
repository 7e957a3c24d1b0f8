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

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// The service in one line, and a test in three more.
func TestAReportCountsByStatus(t *testing.T) {
	server := fake.NewTestServer(t, fake.WithPets(
		petstore.NewPet{Name: "Rex", CategoryID: 1, Status: petstore.PetStatusAvailable},
		petstore.NewPet{Name: "Mimi", CategoryID: 2, Status: petstore.PetStatusSold},
	))
	report, err := Shelter{server.Client()}.Report(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "1 available, 0 pending, 1 sold", report)
}

// A failure on demand. In a synctest bubble the waits between the attempts take no time.
func TestAReportSurvivesAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fake.NewTestServer(t)
		server.Inject(fake.Fault{Operation: fake.OpListPets, Status: http.StatusServiceUnavailable, Times: 2})
		_, err := Shelter{server.Client()}.Report(t.Context())
		require.NoError(t, err)
		assert.Len(t, server.Requests(), 5, "three lists, two of them twice or one three times")
	})
}

// The worst case of a create: it is carried out, and the answer is lost.
func TestAnAnimalWhoseAdmissionIsInDoubtIsAdmittedOnce(t *testing.T) {
	server := fake.NewTestServer(t, fake.WithStrict()) // fails the test for a create that is repeated
	server.Inject(fake.Fault{Operation: fake.OpCreatePet, AfterCommit: true, Status: http.StatusBadGateway})
	pet, err := Shelter{server.Client()}.Admit(t.Context(), "Rex", 1)
	require.NoError(t, err)
	assert.Equal(t, "Rex", pet.Name)
	assert.Len(t, server.Pets(), 1)
}

// A minute's quota, waited out in no time at all.
func TestAReportWaitsForTheNextMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fake.NewTestServer(t, fake.WithPlan(fake.Enterprise(3, 0)), fake.WithStrict())
		shelter, start := Shelter{server.Client()}, time.Now()
		for range 2 {
			_, err := shelter.Report(t.Context())
			require.NoError(t, err)
		}
		assert.GreaterOrEqual(t, time.Since(start), 59*time.Second)
		assert.Zero(t, server.Usage(server.APIKey()).Limited, "and no request was ever refused")
	})
}

// A deadline that the wait would outlast.
func TestAReportFailsAtOnceIfTheNextMinuteIsTooFar(t *testing.T) {
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
	})
}

func TestTheProgramTellsWhatItDid(t *testing.T) {
	server := fake.NewTestServer(t)
	var out strings.Builder
	require.NoError(t, run(t.Context(), Shelter{server.Client()}, &out))
	assert.Equal(t, "Rex came in with id 1\nThe shelter has 1 available, 0 pending, 0 sold\n", out.String())
}
