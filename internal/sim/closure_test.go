package sim

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/fake"
)

func TestAfterA429NobodySendsUntilItIsOverThenOneThenTheRest(t *testing.T) {
	for name, skip := range map[string]int{
		"the first request is rejected":           0,
		"one is rejected while others are on air": 30,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { oneRejection(t, skip) })
		})
	}
}

// oneRejection has 100 callers share 60 requests a minute, of which the one after skip others is
// answered 429 with a Retry-After of 30 seconds.
func oneRejection(t *testing.T, skip int) {
	const retryAfter = 30 * time.Second
	server := fake.NewTestServer(t, fake.WithPlan(fake.PlanFree))
	server.Inject(fake.Fault{Status: http.StatusTooManyRequests, RetryAfter: "30", Skip: skip})
	w := newWitness(server)
	callAtOnce(t, w.client(t), 100)

	rejected := w.rejected()
	require.Len(t, rejected, 1)
	opens := rejected[0].answered.Add(retryAfter)
	assert.Empty(t, w.sentFrom(rejected[0].answered, opens), "inside the closed window")

	later := w.sentFrom(opens, opens.Add(time.Hour))
	require.NotEmpty(t, later)
	probe := later[0]
	assert.Less(t, probe.sent.Sub(opens), time.Second)
	assert.Equal(t, rejected[0].call, probe.call, "the call that was rejected keeps its place in the line")
	assert.Len(t, w.sentFrom(opens, probe.answered), 1, "exactly one probe")

	nextWindow := server.Usage(server.APIKey()).MinuteReset.Add(-time.Minute)
	rest := len(w.sentFrom(probe.answered, nextWindow))
	assert.LessOrEqual(t, rest, probe.remaining, "the rest, within Remaining")
	assert.GreaterOrEqual(t, rest, probe.remaining-1, "one may be left for whoever caused the 429")
	assert.Len(t, w.sentFrom(time.Time{}, opens.Add(time.Hour)), 101)
}

func (w *witness) rejected() []sighting {
	var rejected []sighting
	for _, s := range w.seen {
		if s.status == http.StatusTooManyRequests {
			rejected = append(rejected, s)
		}
	}
	return rejected
}
