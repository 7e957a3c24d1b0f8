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

		get, post, scheme := semconv.HTTPRequestMethodGet, semconv.HTTPRequestMethodPost, semconv.URLScheme("https")
		protocol, getPet := semconv.NetworkProtocolVersion("1.1"), attributeOperation.String("getPet")
		for name, want := range map[string]map[attribute.Set]int{
			metricRequestDuration: {
				atService(get, semconv.URLTemplate("/v1/pets"), scheme, semconv.HTTPResponseStatusCode(200), protocol):    2,
				atService(post, semconv.URLTemplate("/v1/pets"), scheme, semconv.ErrorTypeKey.String("connection_reset")): 1,
				atService(get, semconv.URLTemplate("/v1/pets/{petId}"), scheme, semconv.HTTPResponseStatusCode(429), protocol,
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

func TestWaitingCallsAndRateLimit(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		atOther := attribute.NewSet(semconv.ServerAddress("other.test"), semconv.ServerPort(8443))
		other := s.clientOf("https://other.test:8443/v1", "another-key", petstoreotel.New(s.opts...))
		s.server.Inject(fake.Fault{Header: http.Header{"X-RateLimit-Limit": nil}})
		s.list(other)
		assert.Nil(t, s.metric(metricRemaining))
		assert.Nil(t, s.metric(metricLimit))
		s.list(other)
		s.list(s.client)
		assert.Equal(t, map[attribute.Set]float64{atService(): 10, atOther: 60}, values(s.metric(metricLimit)))
		assert.Equal(t, map[attribute.Set]float64{atService(): 9, atOther: 58}, values(s.metric(metricRemaining)))
		for range 12 {
			go func() { _, _ = s.client.ListPets(t.Context(), petstore.ListPetsParams{}) }()
		}
		synctest.Wait()
		assert.InDelta(t, 3, values(s.metric(metricWaitingCalls))[atService()], 0)
		time.Sleep(2 * time.Minute)
		assert.InDelta(t, 0, values(s.metric(metricWaitingCalls))[atService()], 0)
	}, fake.WithPlan(fake.Plan{PerMinute: 10}), fake.WithKey("another-key", fake.PlanFree))
}

func TestClosedUntil(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		ban := atService(attribute.String("petstore.rate_limit.scope", "ban"))
		option := petstoreotel.New(s.opts...)
		short, long := s.bareClient(option), s.clientOf("https://service.test/v1", "another-key", option)
		banned := func(client *petstore.Client, d time.Duration) float64 {
			s.ban(d)
			for range 2 {
				_, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
				require.ErrorIs(t, err, petstore.ErrRateLimited)
			}
			return float64(time.Now().Add(d).Unix())
		}
		s.list(short)
		assert.Nil(t, s.metric(metricClosedUntil))
		first := banned(short, 10*time.Hour)
		assert.InDelta(t, first, values(s.metric(metricClosedUntil))[ban], 1)
		time.Sleep(10*time.Hour + time.Second)
		s.list(short)
		assert.Less(t, values(s.metric(metricClosedUntil))[ban], float64(time.Now().Unix()), "it is over")

		latest := banned(long, 2*time.Hour)
		banned(short, time.Hour)
		assert.InDelta(t, latest, values(s.metric(metricClosedUntil))[ban], 1)
		short.ReopenLimit()
		s.list(short)
		assert.InDelta(t, latest, values(s.metric(metricClosedUntil))[ban], 1, "another key is still closed")
		long.ReopenLimit()
		s.list(long)
		assert.Equal(t, map[attribute.Set]float64{ban: 0}, values(s.metric(metricClosedUntil)))
	}, fake.WithKey("another-key", fake.PlanFree))
}

func TestNewReportsAnInstrumentThatIsRefused(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		var reported []error
		otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { reported = append(reported, err) }))
		client := s.bareClient(petstoreotel.New(petstoreotel.WithMeterProvider(refusing{})))
		require.Len(t, reported, 1)
		assert.EqualError(t, reported[0], "no gauges")
		s.list(client)
	})
}

// refusing is a meter provider that refuses gauges of numbers.
type refusing struct{ metricnoop.MeterProvider }

func (refusing) Meter(string, ...metric.MeterOption) metric.Meter { return refusingMeter{} }

type refusingMeter struct{ metricnoop.Meter }

func (refusingMeter) Float64Gauge(string, ...metric.Float64GaugeOption) (metric.Float64Gauge, error) {
	return nil, errors.New("no gauges")
}
