package petstoreotel_test

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/petstoreotel"
)

func TestDurations(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		s.list(s.client)
		s.list(s.client)
		s.server.Inject(fake.Fault{Wire: fake.WireReset})
		_, err := s.client.CreatePet(t.Context(), petstore.NewPet{Name: "Rex"})
		require.ErrorIs(t, err, petstore.ErrOutcomeUnknown)
		s.ban(time.Hour)
		for range 10 {
			_, err = s.client.GetPet(t.Context(), 12)
			require.ErrorIs(t, err, petstore.ErrRateLimited)
		}

		get, post, getPet := semconv.HTTPRequestMethodGet, semconv.HTTPRequestMethodPost, attributeOperation.String("getPet")
		for name, want := range map[string]map[attribute.Set]int{
			metricRequestDuration: {
				atService(get, semconv.URLTemplate("/v1/pets"), semconv.HTTPResponseStatusCode(200)):              2,
				atService(post, semconv.URLTemplate("/v1/pets"), semconv.ErrorTypeKey.String("connection_reset")): 1,
				atService(get, semconv.URLTemplate("/v1/pets/{petId}"), semconv.HTTPResponseStatusCode(429),
					semconv.ErrorTypeKey.String("429")): 1,
			},
			metricCallDuration: {
				atService(attributeOperation.String("listPets")): 2,
				atService(attributeOperation.String("createPet"), semconv.ErrorTypeKey.String("connection_reset"),
					attributeUnknown.Bool(true)): 1,
				atService(getPet, semconv.ErrorTypeKey.String("429")):          1,
				atService(getPet, semconv.ErrorTypeKey.String("rate_limited")): 9,
			},
		} {
			got := make(map[attribute.Set]int)
			for attributes, p := range s.histogram(name) {
				got[attributes] = int(p.Count)
			}
			assert.Equal(t, want, got)
		}
	})
}

func TestWaitTimeIsThatOfTheLimitOnly(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		s.server.Inject(fake.Fault{Status: 503, Header: http.Header{"X-RateLimit-Remaining": {"0"}}})
		_, err := s.client.ListPets(t.Context(), petstore.ListPetsParams{}, petstore.WithRetryPolicy(
			petstore.RetryPolicy{BaseDelay: 8 * time.Second, MaxDelay: 8 * time.Second}))
		require.NoError(t, err)
		assert.Len(t, s.ended()[2].Events(), 2, "the backoff, and the rest of the minute after it")
		waits := s.histogram(metricWaitTime)
		waited, went := waits[atService(attributeWaitReason.String("minute"))], waits[atService()]
		assert.Equal(t, [2]uint64{1, 1}, [2]uint64{waited.Count, went.Count}, "the first request went at once")
		assert.InDelta(t, 55, waited.Sum, 5)
		assert.Zero(t, went.Sum)
	})
}

func TestWaitsGivenUp(t *testing.T) {
	givenUp := func(reason, errorType string) map[attribute.Set]float64 {
		at := atService(attributeWaitReason.String(reason), semconv.ErrorTypeKey.String(errorType))
		return map[attribute.Set]float64{at: 1}
	}
	none, limited := map[attribute.Set]float64{}, []fake.Fault{{Status: 429, RetryAfter: "30"}}
	failing := []fake.Fault{{Status: 503}}
	for name, c := range map[string]struct {
		faults         []fake.Fault
		maxWait        time.Duration // an hour by default
		ended, stopped time.Duration // how long after its start the caller's context ends, or that of WithStop
		want           map[attribute.Set]float64
	}{
		"not begun":         {faults: limited, maxWait: time.Second, want: givenUp("minute", "429")},
		"ended":             {faults: limited, ended: time.Second, want: givenUp("minute", "canceled")},
		"stopped":           {faults: limited, stopped: time.Second, want: givenUp("minute", "stopped")},
		"of the backoff":    {faults: failing, ended: time.Millisecond, want: givenUp("backoff", "canceled")},
		"none: it failed":   {faults: []fake.Fault{{Status: 400}}, want: none},
		"none: on the wire": {faults: append(failing, fake.Fault{Wire: fake.WireStall}), ended: 5 * time.Second, want: none},
	} {
		t.Run(name, func(t *testing.T) {
			recorded(t, func(t *testing.T, s *harness) {
				for _, fault := range c.faults {
					s.server.Inject(fault)
				}
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(cmp.Or(c.ended, time.Hour), cancel)
				stop, cancel := context.WithCancel(t.Context())
				time.AfterFunc(cmp.Or(c.stopped, time.Hour), cancel)
				_, err := s.newClient(petstore.WithStop(stop)).ListPets(ctx, petstore.ListPetsParams{},
					petstore.WithMaxWait(cmp.Or(c.maxWait, time.Hour)),
					petstore.WithRetryPolicy(petstore.RetryPolicy{BaseDelay: 100 * time.Millisecond}))
				require.Error(t, err)
				assert.Equal(t, c.want, values(s.metric(metricWaitsGivenUp)))
			})
		})
	}
}

var scopeMinute, scopeBan = attributeScope.String("minute"), attributeScope.String("ban")

func TestWaitingCalls(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		for range 12 {
			go func() { _, _ = s.client.ListPets(t.Context(), petstore.ListPetsParams{}) }()
		}
		synctest.Wait()
		time.Sleep(time.Second)
		assert.InDelta(t, 2, values(s.metric(metricWaitingCalls))[atService()], 0)
		time.Sleep(2 * time.Minute)
		assert.InDelta(t, 0, values(s.metric(metricWaitingCalls))[atService()], 0)
	}, fake.WithPlan(fake.Plan{PerMinute: 10, PerDay: 0}))
}

func TestLimit(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		option := petstoreotel.New(s.opts...)
		mine, other := s.bareClient(option), s.clientOf("https://service.test/v1", "another-key", option)
		limit := func(scope attribute.KeyValue) float64 { return values(s.metric(metricLimit))[atService(scope)] }
		s.server.Inject(fake.Fault{Header: http.Header{"X-RateLimit-Limit": nil}})
		s.list(mine)
		assert.Nil(t, s.metric(metricLimit), "nothing is known")
		for range 3 {
			s.list(mine)
			s.list(other)
			assert.InDelta(t, 10, limit(scopeMinute), 0, "of two keys with the same attributes it shows one")
		}
		assert.InDelta(t, 6, values(s.metric(metricRemaining))[atService(scopeMinute)], 0)
		s.server.Inject(fake.Fault{Status: 401, Header: http.Header{"X-RateLimit-Limit": {"60"}}})
		_, err := mine.ListPets(t.Context(), petstore.ListPetsParams{})
		require.ErrorIs(t, err, petstore.ErrUnauthorized)
		assert.InDelta(t, 10, limit(scopeMinute), 0, "a 401 says nothing about the key")
		time.Sleep(time.Minute)
		for range 7 {
			s.list(mine)
		}
		assert.Equal(t, []float64{10, 13}, []float64{limit(scopeMinute), limit(attributeScope.String("day"))})
	}, fake.WithPlan(fake.Plan{PerMinute: 10, PerDay: 13}), fake.WithKey("another-key", fake.PlanFree))
}

func TestClosedUntil(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		closed := func() float64 { return values(s.metric(metricClosedUntil))[atService(scopeBan)] }
		client := s.newClient(petstore.WithProcesses(3))
		s.list(client)
		assert.Nil(t, s.metric(metricClosedUntil))
		s.ban(10 * time.Hour)
		for range 2 {
			_, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
			require.ErrorIs(t, err, petstore.ErrRateLimited)
		}
		assert.InDelta(t, time.Now().Add(10*time.Hour).Unix(), closed(), 1)
		assert.Equal(t, map[attribute.Set]float64{atService(): 3}, values(s.metric(metricProcesses)))
		client.ReopenLimit()
		s.list(client)
		assert.Zero(t, closed(), "it was opened early")
	})
}

func TestWithAttributesKeepsTenantsApart(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		tenants := make(map[string]string) // by Call.KeyID
		option := petstoreotel.New(append(s.opts, petstoreotel.WithAttributes(func(c petstore.Call) []attribute.KeyValue {
			return []attribute.KeyValue{attribute.String("tenant", tenants[c.KeyID]), semconv.ServerAddress("not this")}
		}))...)
		learn := petstore.WithTrace(&petstore.ClientTrace{AttemptStart: func(_ context.Context, c petstore.Call) {
			tenants[c.KeyID] = cmp.Or(tenants[c.KeyID], []string{"a", "b", ""}[len(tenants)])
		}})
		a, b := s.bareClient(learn, option), s.clientOf("https://service.test/v1", "another-key", learn, option)
		s.list(a)
		s.list(b)
		tenantA, tenantB := attribute.String("tenant", "a"), attribute.String("tenant", "b")
		assert.Equal(t, map[attribute.Set]float64{atService(tenantA, scopeMinute): 1000, atService(tenantB, scopeMinute): 60},
			values(s.metric(metricLimit)))
		s.ban(time.Hour)
		_, err := a.ListPets(t.Context(), petstore.ListPetsParams{})
		require.ErrorIs(t, err, petstore.ErrRateLimited)
		s.list(b)
		assert.Len(t, values(s.metric(metricClosedUntil)), 1)
		assert.NotZero(t, values(s.metric(metricClosedUntil))[atService(tenantA, scopeBan)])
		assert.Equal(t, "b", value(s.ended()[len(s.ended())-2], "tenant"))
	}, fake.WithKey("another-key", fake.PlanFree))
}

func TestNewReportsAnInstrumentThatIsRefused(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		var reported []error
		otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { reported = append(reported, err) }))
		client := s.bareClient(petstoreotel.New(petstoreotel.WithMeterProvider(refusing{})))
		require.Len(t, reported, 1)
		assert.ErrorContains(t, reported[0], "no gauges")
		s.list(client)
	})
}

// refusing is a meter provider that refuses gauges.
type refusing struct{ metricnoop.MeterProvider }

func (refusing) Meter(string, ...metric.MeterOption) metric.Meter { return refusingMeter{} }

type refusingMeter struct{ metricnoop.Meter }

func (refusingMeter) Float64Gauge(string, ...metric.Float64GaugeOption) (metric.Float64Gauge, error) {
	return nil, errors.New("no gauges")
}
