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
	"go.opentelemetry.io/otel/metric"
)

// TestDashboard holds that each query of the dashboard finds something after a run of the example,
// and that each metric has a panel.
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
		away, err := tel.meters.Meter("petstoreredis").Float64Gauge("petstore.redis.away", metric.WithUnit("1"))
		require.NoError(t, err)
		away.Record(t.Context(), 0)
		m := newMonitor(t)
		for range 2 {
			require.NoError(t, tel.record(t.Context(), io.Discard))
			time.Sleep(scrapeInterval)
			m.scrape("pod-1", tel.registry, true)
		}
		for _, panel := range dashboard.Panels {
			for _, target := range panel.Targets {
				query := strings.NewReplacer("$__rate_interval", "5m", "$job", ".*", "$server", ".*").Replace(target.Expr)
				assert.True(t, m.finds(query), "%s: %s", panel.Title, query)
			}
		}
		for _, s := range m.series {
			name := strings.NewReplacer("_sum", "", "_count", "", "_bucket", "").Replace(s.Metric.Get("__name__"))
			assert.Contains(t, string(text), name, "a metric without a panel")
		}
	})
}
