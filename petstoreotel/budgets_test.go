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

// closedUntil are the values of the gauge by scope.
func (s *harness) closedUntil() map[string]time.Time {
	s.t.Helper()
	closures := make(map[string]time.Time)
	if data, ok := s.metric(petstoreotel.MetricClosedUntil).(metricdata.Gauge[float64]); ok {
		for _, p := range data.DataPoints {
			scope, _ := p.Attributes.Value(petstoreotel.AttributeScope)
			assert.Equal(s.t, service, without(p.Attributes, petstoreotel.AttributeScope))
			closures[scope.String()] = time.UnixMilli(int64(p.Value * 1000))
		}
	}
	return closures
}

func (s *harness) remaining() int64 {
	s.t.Helper()
	return integers(s.metric(petstoreotel.MetricRemaining))[service]
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
		synctest.Test(t, func(t *testing.T) {
			s := newHarness(t)
			_, err := s.client.ListPets(t.Context(), petstore.ListPetsParams{})
			require.NoError(t, err)
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
			_, err = s.client.ListPets(t.Context(), petstore.ListPetsParams{})
			require.NoError(t, err)
			assert.EqualValues(t, 999, s.remaining())
		})
	})
	t.Run("is open after a success that was sent since", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newHarness(t)
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
			_, err = s.another().ListPets(t.Context(), petstore.ListPetsParams{})
			require.NoError(t, err)
			assert.Empty(t, s.closedUntil())
			assert.Positive(t, s.remaining())
		})
	})
	t.Run("is not that of another key", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newHarness(t, fake.WithKey("another-key", fake.PlanFree))
			options := append([]petstore.Option{petstoreotel.New(s.opts...)}, petstore.WithHTTPClient(s.server.HTTPClient()))
			first, err := petstore.NewClient("https://service.test/v1", s.server.APIKey(), options...)
			require.NoError(t, err)
			second, err := petstore.NewClient("https://service.test/v1", "another-key", options...)
			require.NoError(t, err)
			s.ban(time.Hour)
			_, err = first.ListPets(t.Context(), petstore.ListPetsParams{})
			require.ErrorIs(t, err, petstore.ErrRateLimited)
			_, err = second.ListPets(t.Context(), petstore.ListPetsParams{})
			require.NoError(t, err)
			assert.Contains(t, s.closedUntil(), "ban")
			assert.Zero(t, s.remaining(), "that of the key with the fewest")
		})
	})
}

// another returns a client of the same key whose limiter knows nothing yet.
func (s *harness) another() *petstore.Client {
	s.t.Helper()
	return s.bareClient(s.base(), s.options...)
}

func TestRateLimitIsGoneWhenItsWindowIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newHarness(t, fake.WithPlan(fake.Plan{Name: "tiny", PerMinute: 1}))
		_, err := s.client.ListPets(t.Context(), petstore.ListPetsParams{})
		require.NoError(t, err)
		time.Sleep(90 * time.Second)
		assert.Contains(t, integers(s.metric(petstoreotel.MetricRemaining)), service, "clocks may differ")
		time.Sleep(time.Minute)
		assert.Nil(t, s.metric(petstoreotel.MetricRemaining))
		assert.Nil(t, s.metric(petstoreotel.MetricLimit))
	})
}

func TestRateLimitOfAKeyThatIsNotUsedAnyMore(t *testing.T) {
	t.Run("is forgotten after its window", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newHarness(t, fake.WithPlan(fake.Plan{Name: "tiny", PerMinute: 1}), fake.WithKey("next-key", fake.PlanFree))
			key := s.server.APIKey()
			client, err := s.rotating(func(context.Context) (string, error) { return key, nil })
			require.NoError(t, err)
			_, err = client.ListPets(t.Context(), petstore.ListPetsParams{})
			require.NoError(t, err)
			assert.Zero(t, s.remaining())
			key = "next-key"
			time.Sleep(5 * time.Minute)
			_, err = client.ListPets(t.Context(), petstore.ListPetsParams{})
			require.NoError(t, err)
			assert.EqualValues(t, 59, s.remaining())
		})
	})
	t.Run("takes a bounded amount of memory", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newHarness(t)
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
			assert.Len(t, integers(s.metric(petstoreotel.MetricRemaining)), 1, "keys are no attributes")
		})
	})
}

func TestCallDuration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newHarness(t)
		_, err := s.client.ListPets(t.Context(), petstore.ListPetsParams{})
		require.NoError(t, err)
		s.server.Inject(fake.Fault{Wire: fake.WireReset})
		_, err = s.client.CreatePet(t.Context(), petstore.NewPet{Name: "Rex"})
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
		for _, p := range s.metric(petstoreotel.MetricCallDuration).(metricdata.Histogram[float64]).DataPoints {
			got[p.Attributes] = p.Count
		}
		assert.Equal(t, want, got)
	})
}
