package petstoreotel_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/petstoreotel"
)

var service = attribute.NewSet(semconv.ServerAddress("service.test"), semconv.ServerPort(443))

func TestRequestDuration(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		for range 2 {
			s.list(s.client)
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
	}, fake.WithLatency(30*time.Millisecond))
}

// waits are the data points of the wait time by the reason of the wait, "" for none.
func (s *harness) waits() map[string]metricdata.HistogramDataPoint[float64] {
	s.t.Helper()
	points := make(map[string]metricdata.HistogramDataPoint[float64])
	if data, ok := s.metric(metricWaitTime).(metricdata.Histogram[float64]); ok {
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
	recorded(t, func(t *testing.T, s *harness) {
		s.list(s.client)
		s.assertFigures(map[attribute.Set]figures{service: {0, 10, 9}})

		for range 12 {
			go func() { _, _ = s.client.ListPets(t.Context(), petstore.ListPetsParams{}) }()
		}
		synctest.Wait()
		s.assertFigures(map[attribute.Set]figures{service: {3, 10, 0}})
		sum, ok := s.metric(metricWaitingCalls).(metricdata.Sum[int64])
		require.True(t, ok)
		assert.False(t, sum.IsMonotonic)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		s.assertFigures(map[attribute.Set]figures{service: {0, 10, 7}})
	}, fake.WithPlan(fake.Plan{Name: "tiny", PerMinute: 10}))
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
			s.list(clients[i])
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
		metricWaitingCalls, metricLimit, metricRemaining,
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

func TestRateLimitThatIsUnknownIsNotShown(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		s.server.Inject(fake.Fault{Header: http.Header{"X-RateLimit-Limit": nil}})
		s.list(s.client)
		assert.Nil(t, s.metric(metricRemaining))
		assert.Nil(t, s.metric(metricLimit))
	})
}

// closedUntil are the values of the gauge by scope.
func (s *harness) closedUntil() map[string]time.Time {
	s.t.Helper()
	closures := make(map[string]time.Time)
	if data, ok := s.metric(metricClosedUntil).(metricdata.Gauge[float64]); ok {
		for _, p := range data.DataPoints {
			scope, _ := p.Attributes.Value(attributeScope)
			assert.Equal(s.t, service, without(p.Attributes, attributeScope))
			closures[scope.String()] = time.UnixMilli(int64(p.Value * 1000))
		}
	}
	return closures
}

func (s *harness) remaining() int64 {
	s.t.Helper()
	return integers(s.metric(metricRemaining))[service]
}

// ban has the service ban the key for d, in a response that shows a window with room.
func (s *harness) ban(d time.Duration) {
	s.server.Inject(fake.Fault{Status: 429, RetryAfter: fmt.Sprint(int(d.Seconds())), Header: http.Header{
		"X-RateLimit-Limit": {"1000"}, "X-RateLimit-Remaining": {"1000"},
		"X-RateLimit-Reset": {fmt.Sprint(time.Now().Add(time.Minute).Unix())},
	}})
}

func TestClosedGate(t *testing.T) {
	t.Run("shows its scope, its end, and that nothing remains", func(t *testing.T) {
		recorded(t, func(t *testing.T, s *harness) {
			s.list(s.client)
			assert.Empty(t, s.closedUntil())
			assert.EqualValues(t, 999, s.remaining())

			end := time.Now().Add(10 * time.Hour)
			s.ban(10 * time.Hour)
			for range 1000 {
				_, err := s.client.ListPets(t.Context(), petstore.ListPetsParams{})
				require.ErrorIs(t, err, petstore.ErrRateLimited)
			}
			require.Len(t, s.closedUntil(), 1)
			assert.WithinDuration(t, end, s.closedUntil()["ban"], time.Second)
			assert.Zero(t, s.remaining())
			time.Sleep(9 * time.Hour)
			assert.Zero(t, s.remaining())

			time.Sleep(time.Hour + time.Second)
			assert.Empty(t, s.closedUntil())
			s.list(s.client)
			assert.EqualValues(t, 999, s.remaining())
		})
	})
	t.Run("is open after a success that was sent since", func(t *testing.T) {
		recorded(t, func(t *testing.T, s *harness) {
			early := s.another()
			s.server.Inject(fake.Fault{Operation: petstore.OpGetPet, Delay: time.Second})
			s.ban(time.Hour)
			done := make(chan struct{})
			go func() {
				defer close(done)
				_, _ = early.GetPet(t.Context(), 1) //nolint:staticcheck // an operation of its own
			}()
			time.Sleep(time.Millisecond)
			_, err := s.client.ListPets(t.Context(), petstore.ListPetsParams{})
			require.ErrorIs(t, err, petstore.ErrRateLimited)
			<-done
			assert.NotEmpty(t, s.closedUntil(), "a response to what was sent before says nothing about it")
			s.list(s.another())
			assert.Empty(t, s.closedUntil())
			assert.Positive(t, s.remaining())
		})
	})
}

// another returns a client of the same key whose limiter knows nothing yet.
func (s *harness) another() *petstore.Client {
	s.t.Helper()
	return s.bareClient(s.base(), s.options...)
}

func TestRateLimitIsGoneWhenItsWindowIsOver(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		s.list(s.client)
		time.Sleep(90 * time.Second)
		assert.Contains(t, integers(s.metric(metricRemaining)), service, "clocks may differ")
		time.Sleep(time.Minute)
		assert.Nil(t, s.metric(metricRemaining))
		assert.Nil(t, s.metric(metricLimit))
	}, fake.WithPlan(fake.Plan{Name: "tiny", PerMinute: 1}))
}

func TestRateLimitOfAKeyThatIsNotUsedAnyMore(t *testing.T) {
	t.Run("is forgotten after its window", func(t *testing.T) {
		recorded(t, func(t *testing.T, s *harness) {
			key := s.server.APIKey()
			client, err := s.rotating(func(context.Context) (string, error) { return key, nil })
			require.NoError(t, err)
			s.list(client)
			assert.Zero(t, s.remaining())
			key = "next-key"
			time.Sleep(5 * time.Minute)
			s.list(client)
			assert.EqualValues(t, 59, s.remaining())
		}, fake.WithPlan(fake.Plan{Name: "tiny", PerMinute: 1}), fake.WithKey("next-key", fake.PlanFree))
	})
	t.Run("takes a bounded amount of memory", func(t *testing.T) {
		recorded(t, func(t *testing.T, s *harness) {
			n := 0
			client, err := s.rotating(func(context.Context) (string, error) {
				n++
				return fmt.Sprintf("key-of-user-%d", n), nil
			})
			require.NoError(t, err)
			for range 1100 {
				_, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
				require.ErrorIs(t, err, petstore.ErrUnauthorized)
			}
			assert.Len(t, integers(s.metric(metricRemaining)), 1, "keys are no attributes")
		})
	})
}

func TestCallDuration(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		s.list(s.client)
		s.server.Inject(fake.Fault{Wire: fake.WireReset})
		_, err := s.client.CreatePet(t.Context(), petstore.NewPet{Name: "Rex"})
		require.ErrorIs(t, err, petstore.ErrOutcomeUnknown)
		s.ban(time.Hour)
		for range 10 {
			_, err = s.client.CreatePet(t.Context(), petstore.NewPet{Name: "Rex"})
			require.ErrorIs(t, err, petstore.ErrRateLimited)
		}

		create := petstoreotel.AttributeOperation.String("createPet")
		at := []attribute.KeyValue{semconv.ServerAddress("service.test"), semconv.ServerPort(443)}
		want := map[attribute.Set]uint64{
			attribute.NewSet(append(at, petstoreotel.AttributeOperation.String("listPets"))...): 1,
			attribute.NewSet(append(at, create, semconv.ErrorTypeKey.String("connection_reset"),
				petstoreotel.AttributeOutcomeUnknown.Bool(true))...): 1,
			attribute.NewSet(append(at, create, semconv.ErrorTypeKey.String("429"))...):          1,
			attribute.NewSet(append(at, create, semconv.ErrorTypeKey.String("rate_limited"))...): 9,
		}
		got := make(map[attribute.Set]uint64)
		for _, p := range s.metric(metricCallDuration).(metricdata.Histogram[float64]).DataPoints {
			got[p.Attributes] = p.Count
		}
		assert.Equal(t, want, got)
	})
}
