package faketest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/fake/faketest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestBubble(t *testing.T) {
	var used *fake.Server
	faketest.Bubble(t, func(t *testing.T, s *fake.Server) {
		used = s
		client, start := s.Client(), time.Now()
		for i := range 3 { // the second waits for a minute, and the third for another
			_, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
			require.NoError(t, err)
			assert.Equal(t, time.Duration(i)*time.Minute, time.Since(start).Truncate(time.Minute))
		}
	}, fake.WithPlan(fake.Plan{PerMinute: 1}))
	_, err := used.Client().ListPets(t.Context(), petstore.ListPetsParams{})
	require.ErrorIs(t, err, petstore.ErrNotSent, "the server is closed")
}
