package main

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/fake"
)

func TestRunShowsTracesAndMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var printed strings.Builder
		require.NoError(t, run(t.Context(), &printed))
		out := printed.String()
		const server = `server_address="petstore.example.com",server_port="443"`
		for _, text := range []string{
			`
createPet  internal  2.08s  http.response.status_code=201
├─ POST /v1/pets  client  40ms  http.response.status_code=429  error.type=429
├─ petstore.wait  reason minute  2s
└─ POST /v1/pets  client  40ms  http.request.resend_count=1  http.response.status_code=201
`,
			"├─ petstore.wait  reason backoff  ",
			"error.type=connection_reset  petstore.outcome_unknown=true\n",
			"\nlistPets  internal  0s  error.type=rate_limited\npetstore: listPets: rate limited (ban) until 2000-01-01T01:00:",
			`petstore_client_rate_limit_closed_until_seconds{petstore_rate_limit_scope="ban",` + server + "} 9.466884",
			`petstore_client_rate_limit_wait_time_seconds_sum{petstore_wait_reason="minute",` + server + "} 2\n",
		} {
			assert.Contains(t, out, text)
		}
		assert.NotContains(t, out, fake.DefaultAPIKey)
	})
}
