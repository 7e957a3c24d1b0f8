package main

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// TestProgress looks at one import that is piped: under the limit, in an outage, and while it is being
// stopped.
func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fake.NewTestServer(t, fake.WithPlan(fake.PlanFree), fake.WithLatency(37*time.Millisecond))
		b := newBench(t, server, 200)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(75*time.Second, func() {
			server.Inject(fake.Fault{Operation: petstore.OpListPets, Times: fake.Forever, Status: 503})
			server.Inject(fake.Fault{Operation: petstore.OpCreatePet, Times: fake.Forever, Wire: fake.WireRefuse})
		})
		time.AfterFunc(205*time.Second, cancel)
		start := time.Now()
		assert.ErrorIs(t, b.run(ctx), context.Canceled)
		assert.LessOrEqual(t, time.Since(start), 214*time.Second, "a service that hangs does not delay the end")
		for _, want := range []string{
			`^importing .* into the test's\n`, `\n\d\d of 200 rows\n`, `\n60 of 200 rows, waits until [\d:]+ for the next 60\n`,
			`\n120 of 200 rows, no response, looks again at [\d:]+\n`,
			`\n120 of 200 rows, stopping, again to stop at once, \d in flight\n`,
			`\n200 rows: 120 created, 0 undecided, 0 rejected, 80 left\n`,
		} {
			assert.Regexp(t, want, b.out.String())
		}
	})
}
