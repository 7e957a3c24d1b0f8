package main

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/petstore/petstore-go/fake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// output is what the example prints in virtual time, where a request takes 40 ms and nothing else
// takes any.
func output(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	require.NoError(t, run(t.Context(), &out))
	return out.String()
}

func TestRunShowsA429AWaitAndARetryAsATree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		assert.Contains(t, output(t), `
createPet  internal  2.08s  http.response.status_code=201
├─ POST /v1/pets  client  40ms  http.response.status_code=429  error.type=429
├─ petstore.wait  reason minute  2s
└─ POST /v1/pets  client  40ms  http.request.resend_count=1  http.response.status_code=201
`)
	})
}

func TestRunShowsTheOtherCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := output(t)
		assert.Contains(t, out, "├─ petstore.wait  reason backoff  ")
		assert.Contains(t, out, "error.type=connection_reset  petstore.outcome_unknown=true\n")
		assert.Contains(t, out, "\nlistPets  internal  0s  error.type=rate_limited\n"+
			"petstore: listPets: rate limited (ban) until 2000-01-01T01:00:")
		assert.NotContains(t, out, fake.DefaultAPIKey)
	})
}

func TestRunShowsTheMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := output(t)
		const server = `server_address="petstore.example.com",server_port="443"`
		for _, line := range []string{
			`petstore_client_call_duration_seconds_count{error_type="rate_limited",petstore_operation="listPets",` + server + "} 1",
			`petstore_client_rate_limit_closed_until_seconds{petstore_rate_limit_scope="ban",` + server + "} 9.466884",
			"petstore_client_rate_limit_limit{" + server + "} 1000",
			"petstore_client_rate_limit_remaining{" + server + "} 997",
			`petstore_client_rate_limit_wait_time_seconds_sum{petstore_wait_reason="minute",` + server + "} 2\n",
			`petstore_client_rate_limit_waits_given_up_total{error_type="rate_limited",petstore_wait_reason="ban",` + server + "} 1",
			"petstore_client_rate_limit_waiting_calls{" + server + "} 0",
		} {
			assert.Contains(t, out, line)
		}
	})
}
