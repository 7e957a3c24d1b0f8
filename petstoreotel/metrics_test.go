package petstoreotel_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/semconv/v1.43.0/httpconv"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/petstoreotel"
)

var service = attribute.NewSet(semconv.ServerAddress("service.test"), semconv.ServerPort(443))

func TestRequestDuration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newHarness(t, fake.WithLatency(30*time.Millisecond))
		for range 2 {
			_, err := s.client.ListPets(t.Context(), petstore.ListPetsParams{})
			require.NoError(t, err)
		}
		_, err := s.client.GetPet(t.Context(), 12) //nolint:staticcheck // the operation with an id in its path
		require.ErrorIs(t, err, petstore.ErrNotFound)
		s.server.Inject(fake.Fault{Wire: fake.WireReset})
		_, err = s.client.CreatePet(t.Context(), petstore.NewPet{Name: "Rex"})
		require.ErrorIs(t, err, petstore.ErrOutcomeUnknown)

		protocol := semconv.NetworkProtocolVersion("1.1")
		want := map[attribute.Set]int{
			attribute.NewSet(atService(semconv.HTTPRequestMethodGet, semconv.URLTemplate("/v1/pets"),
				semconv.HTTPResponseStatusCode(200), protocol)...): 2,
			attribute.NewSet(atService(semconv.HTTPRequestMethodGet, semconv.URLTemplate("/v1/pets/{petId}"),
				semconv.HTTPResponseStatusCode(404), protocol, semconv.ErrorTypeKey.String("404"))...): 1,
			attribute.NewSet(atService(semconv.HTTPRequestMethodPost, semconv.URLTemplate("/v1/pets"),
				semconv.ErrorTypeKey.String("connection_reset"))...): 1,
		}
		points := s.durations()
		assert.Len(t, points, len(want))
		for attributes, n := range want {
			p := points[attributes.Equivalent()]
			assert.EqualValues(t, n, p.Count, attributes.Encoded(attribute.DefaultEncoder()))
			assert.InDelta(t, 0.03*float64(n), p.Sum, 1e-9)
			assert.Equal(t, []float64{0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10}, p.Bounds)
		}
	})
}

func TestMetricsHaveNamesUnitsAndDescriptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newHarness(t)
		_, err := s.client.ListPets(t.Context(), petstore.ListPetsParams{})
		require.NoError(t, err)
		s.server.Inject(fake.Fault{Status: 429, RetryAfter: "7", Times: 2})
		_, err = s.client.ListPets(t.Context(), petstore.ListPetsParams{}, petstore.WithRetryPolicy(
			petstore.RetryPolicy{MaxAttempts: 2}))
		require.ErrorIs(t, err, petstore.ErrRateLimited)
		units := make(map[string]string)
		scope := s.collect()
		for _, m := range scope.Metrics {
			units[m.Name] = m.Unit
			assert.NotEmpty(t, m.Description, m.Name)
		}
		assert.Equal(t, map[string]string{
			httpconv.ClientRequestDuration{}.Name(): httpconv.ClientRequestDuration{}.Unit(),
			petstoreotel.MetricCallDuration:         "s",
			petstoreotel.MetricWaitTime:             "s",
			petstoreotel.MetricWaitsGivenUp:         "{wait}",
			petstoreotel.MetricClosedUntil:          "s",
			petstoreotel.MetricWaitingCalls:         "{call}",
			petstoreotel.MetricLimit:                "{request}",
			petstoreotel.MetricRemaining:            "{request}",
		}, units)
		assert.Equal(t, petstoreotel.ScopeName, scope.Scope.Name)
		assert.Equal(t, petstore.Version, scope.Scope.Version)
		assert.Equal(t, semconv.SchemaURL, scope.Scope.SchemaURL)
	})
}

func TestWaitTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newHarness(t)
		s.server.Inject(fake.Fault{Status: 429, RetryAfter: "40"})
		s.server.Inject(fake.Fault{Status: 503}) // the backoff after it is no wait for the rate limit
		_, err := s.client.ListPets(t.Context(), petstore.ListPetsParams{}, petstore.WithRetryPolicy(
			petstore.RetryPolicy{BaseDelay: 8 * time.Second}))
		require.NoError(t, err)

		waits := s.waits()
		require.Len(t, waits, 2)
		assert.EqualValues(t, 1, waits["minute"].Count)
		assert.InDelta(t, 40, waits["minute"].Sum, 1)
		assert.EqualValues(t, 2, waits[""].Count, "the others went at once")
		assert.Zero(t, waits[""].Sum)
	})
}

// waits are the data points of the wait time by the reason of the wait, "" for none.
func (s *harness) waits() map[string]metricdata.HistogramDataPoint[float64] {
	s.t.Helper()
	points := make(map[string]metricdata.HistogramDataPoint[float64])
	if data, ok := s.metric(petstoreotel.MetricWaitTime).(metricdata.Histogram[float64]); ok {
		for _, p := range data.DataPoints {
			reason, _ := p.Attributes.Value(petstoreotel.AttributeWaitReason)
			points[reason.String()] = p
			assert.Equal(s.t, service, without(p.Attributes, petstoreotel.AttributeWaitReason))
		}
	}
	return points
}

func without(set attribute.Set, key attribute.Key) attribute.Set {
	rest, _ := set.Filter(func(kv attribute.KeyValue) bool { return kv.Key != key })
	return rest
}

func TestWaitingCallsAndRateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newHarness(t, fake.WithPlan(fake.Plan{Name: "tiny", PerMinute: 10}))
		_, err := s.client.ListPets(t.Context(), petstore.ListPetsParams{})
		require.NoError(t, err)
		s.assertFigures(map[attribute.Set]figures{service: {0, 10, 9}})

		for range 12 {
			go func() { _, _ = s.client.ListPets(t.Context(), petstore.ListPetsParams{}) }()
		}
		synctest.Wait()
		s.assertFigures(map[attribute.Set]figures{service: {3, 10, 0}})
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		s.assertFigures(map[attribute.Set]figures{service: {0, 10, 7}})
	})
}

func TestMetricsAddUpClientsByServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tiny := fake.Plan{Name: "tiny", PerMinute: 2}
		s := newHarness(t, fake.WithPlan(tiny), fake.WithKey("another-key", fake.PlanFree))
		options := append([]petstore.Option{petstoreotel.New(s.opts...)}, petstore.WithHTTPClient(s.server.HTTPClient()))
		limiter := petstore.NewLimiter()
		var clients []*petstore.Client
		for _, c := range []struct {
			url, key string
			limiter  petstore.Limiter
		}{
			{"https://service.test/v1", "another-key", petstore.NewLimiter()},
			{"https://service.test/v1", s.server.APIKey(), limiter},
			{"https://other.test:8443/v1", "another-key", petstore.NewLimiter()},
			{"https://other.test:8443/v1", s.server.APIKey(), limiter}, // sends nothing
		} {
			client, err := petstore.NewClient(c.url, c.key, append(options, petstore.WithLimiter(c.limiter))...)
			require.NoError(t, err)
			clients = append(clients, client)
		}
		for _, i := range []int{0, 1, 1, 2} {
			_, err := clients[i].ListPets(t.Context(), petstore.ListPetsParams{})
			require.NoError(t, err)
		}
		for _, i := range []int{1, 1, 3} {
			go func() { _, _ = clients[i].ListPets(t.Context(), petstore.ListPetsParams{}) }()
		}
		synctest.Wait()

		s.assertFigures(map[attribute.Set]figures{
			service: {2, 2, 0},
			attribute.NewSet(semconv.ServerAddress("other.test"), semconv.ServerPort(8443)): {1, 60, 58},
		})
		time.Sleep(5 * time.Minute)
	})
}

// figures are waiting calls, limit and remaining requests.
type figures [3]int64

func (s *harness) assertFigures(want map[attribute.Set]figures) {
	s.t.Helper()
	got := make(map[attribute.Set]figures)
	for i, name := range []string{
		petstoreotel.MetricWaitingCalls, petstoreotel.MetricLimit, petstoreotel.MetricRemaining,
	} {
		for set, n := range integers(s.metric(name)) {
			f := got[set]
			f[i] = n
			got[set] = f
		}
	}
	assert.Equal(s.t, want, got)
}

func integers(data metricdata.Aggregation) map[attribute.Set]int64 {
	var points []metricdata.DataPoint[int64]
	switch data := data.(type) {
	case metricdata.Sum[int64]:
		points = data.DataPoints
	case metricdata.Gauge[int64]:
		points = data.DataPoints
	}
	values := make(map[attribute.Set]int64)
	for _, p := range points {
		values[p.Attributes] = p.Value
	}
	return values
}

func TestWaitingCallsGoUpAndDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newHarness(t)
		s.server.Inject(fake.Fault{Status: 429, RetryAfter: "3"})
		_, err := s.client.ListPets(t.Context(), petstore.ListPetsParams{})
		require.NoError(t, err)
		sum, ok := s.metric(petstoreotel.MetricWaitingCalls).(metricdata.Sum[int64])
		require.True(t, ok)
		assert.False(t, sum.IsMonotonic)
	})
}

func TestRateLimitThatIsUnknownIsNotShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newHarness(t)
		s.server.Inject(fake.Fault{Header: http.Header{"X-RateLimit-Limit": nil}})
		_, err := s.client.ListPets(t.Context(), petstore.ListPetsParams{})
		require.NoError(t, err)
		assert.Nil(t, s.metric(petstoreotel.MetricRemaining))
		assert.Nil(t, s.metric(petstoreotel.MetricLimit))
	})
}
