package main

import (
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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
			"\nclient POST /v1/pets 40ms error.type=429,http.request.method=POST,http.response.status_code=429,",
			"\ninternal createPet 2.08s http.request.method=POST,http.response.status_code=201,petstore.attempts=2,",
			"\n  event petstore.wait petstore.wait.duration=2,petstore.wait.reason=minute,",
			"\ninternal createPet 40ms error.type=connection_reset,",
			"\ninternal listPets 0s error.type=rate_limited,",
			"\npetstore: listPets: rate limited (ban) until 2000-01-01T01:00:",
			`petstore_client_rate_limit_closed_until_seconds{petstore_rate_limit_scope="ban",` + server + "} 9.466884",
			`petstore_client_rate_limit_wait_time_seconds_sum{petstore_wait_reason="minute",` + server + "} 2\n",
		} {
			assert.Contains(t, out, text)
		}
		assert.NotContains(t, out, fake.DefaultAPIKey)
	})
}

// TestDashboard checks that each query of the dashboard finds something after a run of the example.
func TestDashboard(t *testing.T) {
	text, err := os.ReadFile("dashboard.json")
	require.NoError(t, err)
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	require.NoError(t, json.Unmarshal(text, &dashboard))
	synctest.Test(t, func(t *testing.T) {
		tel, err := startTelemetry()
		require.NoError(t, err)
		lostRedis(t, tel)
		m := newMonitor(t)
		for range 2 {
			require.NoError(t, tel.record(t.Context(), io.Discard))
			time.Sleep(scrapeInterval)
			m.scrape(tel.registry)
		}
		for _, panel := range dashboard.Panels {
			for _, target := range panel.Targets {
				query := strings.NewReplacer("$__rate_interval", "5m", "$job", ".*", "$server", ".*").Replace(target.Expr)
				assert.True(t, m.finds(query), "%s: %s", panel.Title, query)
			}
		}
	})
}
