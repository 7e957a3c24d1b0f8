package main

import (
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/petstoreredis"
)

func TestWatchLimiter(t *testing.T) {
	server := miniredis.RunT(t)
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr(), MaxRetries: -1})
	t.Cleanup(func() { assert.NoError(t, rdb.Close()) })
	limiter, err := petstoreredis.NewLimiter(rdb, "key", petstoreredis.WithTimeout(time.Second))
	require.NoError(t, err)
	reader := metric.NewManualReader()
	require.NoError(t, watchLimiter(metric.NewMeterProvider(metric.WithReader(reader)).Meter("test"), limiter))

	client := fake.NewTestServer(t).Client(petstore.WithLimiter(limiter))
	_, err = client.ListPets(t.Context(), petstore.ListPetsParams{})
	require.NoError(t, err)
	values := collect(t, reader)
	assert.Len(t, values, len(figures()))
	assert.Positive(t, values["petstore.redis.round_trips"])
	assert.Zero(t, values["petstore.redis.fallbacks"])
	assert.InDelta(t, 1, values["petstore.redis.processes"], 0)

	server.Close()
	_, err = client.ListPets(t.Context(), petstore.ListPetsParams{})
	require.NoError(t, err)
	assert.EventuallyWithT(t, func(c *assert.CollectT) {
		_, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
		require.NoError(c, err)
		assert.InDelta(c, 1, collect(t, reader)["petstore.redis.fallbacks"], 0)
	}, 20*time.Second, 50*time.Millisecond)
	assert.Positive(t, collect(t, reader)["petstore.redis.away_time"])
}

// collect returns the values of all metrics by their names.
func collect(t *testing.T, reader metric.Reader) map[string]float64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(t.Context(), &all))
	values := map[string]float64{}
	for _, m := range all.ScopeMetrics[0].Metrics {
		switch data := m.Data.(type) {
		case metricdata.Sum[float64]:
			values[m.Name] = data.DataPoints[0].Value
		case metricdata.Gauge[float64]:
			values[m.Name] = data.DataPoints[0].Value
		}
	}
	return values
}
