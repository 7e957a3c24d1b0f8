package sim

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func TestAnExhaustedDayFailsLocallyUntilItsResetAndThenWorksAgain(t *testing.T) {
	for _, window := range []fake.Window{fake.WindowFixed, fake.WindowAligned, fake.WindowSliding} {
		t.Run(windowName(window), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { exhaustDay(t, window) })
		})
	}
}

func exhaustDay(t *testing.T, window fake.Window) {
	const day = 100
	server := fake.NewTestServer(t, fake.WithPlan(fake.Enterprise(60, day)), fake.WithStrict(),
		fake.WithBehavior(fake.Behavior{Window: window}))
	w := newWitness(server)
	client := w.client(t)
	callAtOnce(t, client, day)
	reset := server.Usage(server.APIKey()).DayReset

	list := func() error {
		_, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
		return err
	}
	var limited *petstore.RateLimitError
	for ; time.Until(reset) > time.Hour; time.Sleep(time.Hour) {
		before := time.Now()
		require.ErrorAs(t, list(), &limited)
		assert.Equal(t, before, time.Now(), "at once")
		assert.True(t, limited.Local)
		assert.Equal(t, petstore.ScopeDay, limited.Scope)
		assert.WithinDuration(t, reset, limited.RetryAt, clockGrain)
	}
	assert.Len(t, w.seen, day, "nothing was sent")

	time.Sleep(time.Until(limited.RetryAt))
	require.NoError(t, list())
	assert.Zero(t, server.Usage(server.APIKey()).Limited)
}
