package petstoreotel_test

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
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

const scope = "petstore.rate_limit.scope="

func TestDurations(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		s.list(s.client, nil)
		s.list(s.client, nil)
		s.server.Inject(fake.Fault{Wire: fake.WireReset})
		s.create(petstore.ErrOutcomeUnknown)
		s.ban(time.Hour)
		for range 10 {
			_, err := s.client.GetPet(t.Context(), 12)
			require.ErrorIs(t, err, petstore.ErrRateLimited)
		}
		assert.Equal(t, map[string]float64{
			"http.request.method=GET,http.response.status_code=200,@,url.template=/v1/pets":                        2,
			"error.type=connection_reset,http.request.method=POST,@,url.template=/v1/pets":                         1,
			"error.type=429,http.request.method=GET,http.response.status_code=429,@,url.template=/v1/pets/{petId}": 1,
		}, s.of("http.client.request.duration"))
		assert.Equal(t, map[string]float64{
			"petstore.operation=listPets,@": 2,
			"error.type=connection_reset,petstore.operation=createPet,petstore.outcome_unknown=true,@": 1,
			"error.type=429,petstore.operation=getPet,@":                                               1,
			"error.type=rate_limited,petstore.operation=getPet,@":                                      9,
		}, s.of("call.duration"))
		assert.InDelta(t, 2*0.2, s.of("call.duration+")["petstore.operation=listPets,@"], 1e-9)
		sums := slices.Sorted(maps.Values(s.of("http.client.request.duration+")))
		assert.InDeltaSlice(t, []float64{0.2, 0.2, 0.4}, sums, 1e-9)
	}, fake.WithLatency(200*time.Millisecond))
}

func TestWaitTimeIsThatOfTheLimitOnly(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		s.server.Inject(fake.Fault{Status: 503, Header: http.Header{"X-RateLimit-Remaining": {"0"}}})
		s.server.Inject(fake.Fault{Status: 429, RetryAfter: "30"})
		_, err := s.client.ListPets(t.Context(), petstore.ListPetsParams{}, petstore.WithRetryPolicy(
			petstore.RetryPolicy{BaseDelay: 8 * time.Second, MaxDelay: 8 * time.Second}))
		require.NoError(t, err)
		assert.Regexp(t, `reason=backoff.*reason=minute.*reason=minute`, s.ended()[3])
		assert.Equal(t, map[string]float64{"@": 1, "petstore.wait.reason=minute,@": 2}, s.of("rate_limit.wait_time"),
			"the first request went at once")
		sums := s.of("rate_limit.wait_time+")
		assert.InDelta(t, 55+30, sums["petstore.wait.reason=minute,@"], 5, "the rest of the minute, and after the 429")
		assert.Zero(t, sums["@"])
	})
}

func TestWaitsGivenUp(t *testing.T) {
	limited, failing := []fake.Fault{{Status: 429, RetryAfter: "30"}}, []fake.Fault{{Status: 503}}
	for name, c := range map[string]struct {
		faults         []fake.Fault
		maxWait        time.Duration // an hour by default
		ended, stopped time.Duration // how long after its start the caller's context ends, or that of WithStop
		want           string        // empty for none
	}{
		"not begun":      {faults: limited, maxWait: time.Second, want: "error.type=429,petstore.wait.reason=minute,@"},
		"ended":          {faults: limited, ended: time.Second, want: "error.type=canceled,petstore.wait.reason=minute,@"},
		"stopped":        {faults: limited, stopped: time.Second, want: "error.type=stopped,petstore.wait.reason=minute,@"},
		"of the backoff": {faults: failing, ended: time.Millisecond, want: "error.type=canceled,petstore.wait.reason=backoff,@"},
		"it failed":      {faults: []fake.Fault{{Status: 400}}},
		"on the wire":    {faults: append(failing, fake.Fault{Wire: fake.WireStall}), ended: 5 * time.Second},
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
				want := map[string]float64{}
				if c.want != "" {
					want[c.want] = 1
				}
				assert.Equal(t, want, s.of("rate_limit.waits_given_up"))
			})
		})
	}
}

func TestWaitingCalls(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		for range 12 {
			go func() { _ = listOnce(t.Context(), s.client) }()
		}
		synctest.Wait()
		time.Sleep(time.Second)
		assert.Equal(t, map[string]float64{"@": 2}, s.of("rate_limit.waiting_calls"))
		time.Sleep(2 * time.Minute)
		assert.Equal(t, map[string]float64{"@": 0}, s.of("rate_limit.waiting_calls"))
	}, fake.WithPlan(fake.Plan{PerMinute: 10}))
}

func TestLimit(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		option := petstoreotel.New(s.opts...)
		mine, other := s.bareClient(s.server.APIKey(), option), s.bareClient("another-key", option)
		s.server.Inject(fake.Fault{Header: http.Header{"X-RateLimit-Limit": nil}})
		s.list(mine, nil)
		assert.Empty(t, s.of("rate_limit.limit"), "nothing is known")
		for range 3 {
			s.list(mine, nil)
			s.list(other, nil)
			assert.Equal(t, map[string]float64{scope + "minute,@": 10}, s.of("rate_limit.limit"),
				"of two keys with the same attributes it shows one")
		}
		assert.Equal(t, map[string]float64{scope + "minute,@": 6}, s.of("rate_limit.remaining"))
		s.server.Inject(fake.Fault{Status: 401, Header: http.Header{"X-RateLimit-Limit": {"60"}}})
		s.list(mine, petstore.ErrUnauthorized)
		assert.Equal(t, map[string]float64{scope + "minute,@": 10}, s.of("rate_limit.limit"), "a 401 says nothing about the key")
		time.Sleep(59 * time.Second)
		s.list(other, nil)
		assert.Equal(t, map[string]float64{scope + "minute,@": 10}, s.of("rate_limit.limit"), "for a minute")
		time.Sleep(time.Second)
		for range 7 {
			s.list(mine, nil)
		}
		assert.Equal(t, map[string]float64{scope + "minute,@": 10, scope + "day,@": 13}, s.of("rate_limit.limit"))
		time.Sleep(time.Minute)
		s.list(other, nil)
		assert.InDelta(t, 60, s.of("rate_limit.limit")[scope+"minute,@"], 0, "the other one, after a minute")
	}, fake.WithPlan(fake.Plan{PerMinute: 10, PerDay: 13}), fake.WithKey("another-key", fake.PlanFree))
}

func TestClosedUntil(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		client := s.newClient(petstore.WithProcesses(3))
		s.list(client, nil)
		assert.Empty(t, s.of("rate_limit.closed_until"))
		s.ban(10 * time.Hour)
		s.list(client, petstore.ErrRateLimited)
		s.list(client, petstore.ErrRateLimited)
		assert.InDelta(t, time.Now().Add(10*time.Hour).Unix(), s.of("rate_limit.closed_until")[scope+"ban,@"], 1)
		assert.Equal(t, map[string]float64{"@": 3}, s.of("rate_limit.processes"))
		client.ReopenLimit()
		s.list(client, nil)
		assert.Equal(t, map[string]float64{scope + "ban,@": 0}, s.of("rate_limit.closed_until"), "it was opened early")
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
		a, b := s.bareClient(s.server.APIKey(), learn, option), s.bareClient("another-key", learn, option)
		s.list(a, nil)
		s.list(b, nil)
		assert.Equal(t, map[string]float64{scope + "minute,@,tenant=a": 1000, scope + "minute,@,tenant=b": 60}, s.of("rate_limit.limit"))
		s.ban(time.Hour)
		s.list(a, petstore.ErrRateLimited)
		s.list(b, nil)
		assert.Equal(t, []string{scope + "ban,@,tenant=a"}, slices.Collect(maps.Keys(s.of("rate_limit.closed_until"))))
		assert.Contains(t, s.ended()[len(s.ended())-2], ",tenant=b,")
	}, fake.WithKey("another-key", fake.PlanFree))
}

func TestNewReportsAnInstrumentThatIsRefused(t *testing.T) {
	recorded(t, func(t *testing.T, s *harness) {
		var reported []error
		otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { reported = append(reported, err) }))
		client := s.bareClient(s.server.APIKey(), petstoreotel.New(petstoreotel.WithMeterProvider(refusing{})))
		require.Len(t, reported, 1)
		assert.ErrorContains(t, reported[0], "no gauges")
		s.list(client, nil)
	})
}

// refusing is a meter provider that refuses gauges.
type refusing struct{ metricnoop.MeterProvider }

func (refusing) Meter(string, ...metric.MeterOption) metric.Meter { return refusingMeter{} }

type refusingMeter struct{ metricnoop.Meter }

func (refusingMeter) Float64Gauge(string, ...metric.Float64GaugeOption) (metric.Float64Gauge, error) {
	return nil, errors.New("no gauges")
}
