package sim

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func TestWindowsServeCallersInTheOrderInWhichTheyCame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const calls, perWindow = 200, 60
		server := fake.NewTestServer(t, fake.WithPlan(fake.PlanFree), fake.WithStrict())
		w := newWitness(server)
		callAtOnce(t, w.client(t), calls)
		require.Len(t, w.seen, calls)
		for i, s := range w.seen {
			assert.Equalf(t, i/perWindow, s.call/perWindow, "call %d was number %d to be sent", s.call, i)
		}
	})
}

func TestAWaitThatCannotFitFailsAtOnceAndSendsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fake.NewTestServer(t, fake.WithPlan(fake.PlanFree), fake.WithStrict())
		w := newWitness(server)
		client := w.client(t)
		callAtOnce(t, client, 60)
		soon, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		refused := func(ctx context.Context, opts ...petstore.CallOption) {
			before := time.Now()
			_, err := client.ListPets(ctx, petstore.ListPetsParams{}, opts...)
			var limited *petstore.RateLimitError
			require.ErrorAs(t, err, &limited)
			assert.Equal(t, before, time.Now())
			assert.True(t, limited.Local)
			assert.WithinDuration(t, server.Usage(server.APIKey()).MinuteReset, limited.RetryAt, clockGrain)
		}
		refused(soon)
		refused(t.Context(), petstore.WithMaxWait(0))
		refused(t.Context(), petstore.WithMaxWait(30*time.Second))
		assert.Len(t, w.seen, 60, "nothing was sent")
	})
}
