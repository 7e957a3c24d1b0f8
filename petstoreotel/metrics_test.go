package petstoreotel_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/petstoreotel"
)

const scope = "petstore.rate_limit.scope="

func TestDurations(t *testing.T) {
	recorded(t, func(h *harness) {
		client := h.client(h.option())
		_, err := client.Do(h.Context(), http.MethodGet, "/pets/5?token=secret", nil, nil)
		require.ErrorIs(h, err, petstore.ErrNotFound)
		h.server.Inject(fake.Fault{Drip: 5 * time.Second})
		require.NoError(h, list(h.Context(), client))
		h.server.Inject(fake.Fault{Wire: fake.WireReset})
		require.ErrorIs(h, create(h.Context(), client), petstore.ErrOutcomeUnknown)
		h.server.BanKey(h.server.APIKey(), time.Hour)
		require.ErrorIs(h, list(h.Context(), client), petstore.ErrRateLimited)
		require.ErrorIs(h, create(h.Context(), client), petstore.ErrNotSent)
		for i, part := range []string{
			",url.full=https://service.test/v1/{path},url.template=/v1/{path}", // the path of Do is not recorded
			"internal do GET Error 0s error.type=404,",
			"client GET /v1/pets Unset 5s", // until the response has been read
			"internal listPets Unset 5s",
			"client POST /v1/pets Error 0s error.type=connection_reset,http.request.method=POST,petstore.operation=",
			",petstore.operation=createPet,petstore.outcome_unknown=true,@",
			"client GET /v1/pets Error 0s error.type=429,",
			"petstore.attempts=1,",
			"internal createPet Error 0s error.type=rate_limited,http.request.method=POST,petstore.attempts=0,", // no request
		} {
			assert.Contains(h, h.ended()[i], part)
		}
		const url = ",@,url.template=/v1/"
		assert.Equal(h, map[string]float64{
			"http.request.method=GET,http.response.status_code=200" + url + "pets":                  5,
			"error.type=connection_reset,http.request.method=POST" + url + "pets":                   0,
			"error.type=429,http.request.method=GET,http.response.status_code=429" + url + "pets":   0,
			"error.type=404,http.request.method=GET,http.response.status_code=404" + url + "{path}": 0,
		}, h.values("http.client.request.duration"))
		assert.Equal(h, map[string]float64{
			"petstore.operation=listPets,@": 5, "error.type=429,petstore.operation=listPets,@": 0,
			"error.type=connection_reset,petstore.operation=createPet,petstore.outcome_unknown=true,@": 0,
			"error.type=404,petstore.operation=do GET,@":                                               0,
			"error.type=rate_limited,petstore.operation=createPet,@":                                   0,
		}, h.values("call.duration"))
	})
}

func TestLimit(t *testing.T) {
	recorded(t, func(h *harness) {
		client := h.client(h.option())
		require.NoError(h, list(h.Context(), client))
		require.NoError(h, list(h.Context(), client))
		h.server.Inject(fake.Fault{Status: 401, Header: http.Header{"X-RateLimit-Limit": {"60"}}})
		require.ErrorIs(h, list(h.Context(), client), petstore.ErrUnauthorized)
		assert.Equal(h, map[string]float64{scope + "minute,@": 10}, h.values("rate_limit.limit"), "a 401 says nothing about the key")
		assert.Equal(h, map[string]float64{scope + "minute,@": 8}, h.values("rate_limit.remaining"))
		h.server.BanKey(h.server.APIKey(), 10*time.Hour)
		require.ErrorIs(h, list(h.Context(), client), petstore.ErrRateLimited)
		assert.InDelta(h, time.Now().Add(10*time.Hour).Unix(), h.values("rate_limit.closed_until")[scope+"ban,@"], 1)
		h.server.BanKey(h.server.APIKey(), 0)
		client.ReopenLimit()
		require.NoError(h, list(h.Context(), client))
		assert.Equal(h, map[string]float64{scope + "ban,@": 0}, h.values("rate_limit.closed_until"), "it was opened early")
		for range 10 {
			require.NoError(h, list(h.Context(), client))
		}
		assert.Equal(h, map[string]float64{scope + "minute,@": 10, scope + "day,@": 13}, h.values("rate_limit.limit"))
	}, fake.WithPlan(fake.Plan{PerMinute: 10, PerDay: 13}))
}

// From the first call of two tenants on, each span and metric has the name of the tenant.
func TestWithAttributes(t *testing.T) {
	recorded(t, func(h *harness) {
		tenants := make(map[string]string) // by Client.KeyID
		a := h.client(h.option(petstoreotel.WithAttributes(func(c petstore.Call) []attribute.KeyValue {
			return []attribute.KeyValue{attribute.String("tenant", tenants[c.KeyID]), semconv.ServerAddress("not this")}
		})))
		b, err := a.ForKey("another-key") // b has the option of a
		require.NoError(h, err)
		tenants[a.KeyID()], tenants[b.KeyID()] = "a", "b"
		h.server.BanKey(h.server.APIKey(), time.Hour)
		require.ErrorIs(h, list(h.Context(), a), petstore.ErrRateLimited)
		assert.NotContains(h, strings.Join(h.ended(), "\n"), "tenant=b")
		h.server.Inject(fake.Fault{Status: 429, RetryAfter: "1"})
		require.NoError(h, list(h.Context(), b))
		for _, span := range h.spans.Started() {
			assert.Regexp(h, `@.*,tenant=[ab]`, text(span.Attributes()), span.Name())
		}
		for _, m := range h.collect().Metrics {
			for point := range h.values(strings.TrimPrefix(m.Name, "petstore.client.")) {
				assert.Regexp(h, `@,tenant=[ab]`, point, m.Name)
			}
		}
		assert.InDelta(h, 1000, h.values("rate_limit.limit")[scope+"minute,@,tenant=a"], 0)
		assert.InDelta(h, 60, h.values("rate_limit.limit")[scope+"minute,@,tenant=b"], 0)
	}, fake.WithKey("another-key", fake.PlanFree))
}

// TestNew_globalProviders gives the option only to the client of ForKey: only this is recorded.
func TestNew_globalProviders(t *testing.T) {
	recorded(t, func(h *harness) {
		otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(h.spans)))
		otel.SetMeterProvider(metric.NewMeterProvider(metric.WithReader(h.reader)))
		otel.SetTextMapPropagator(propagation.TraceContext{})
		parent := h.client()
		tenant, err := parent.ForKey(h.server.APIKey(), petstoreotel.New(
			petstoreotel.WithTracerProvider(nil), petstoreotel.WithMeterProvider(nil), petstoreotel.WithPropagators(nil)))
		require.NoError(h, err)
		require.NoError(h, list(h.Context(), parent))
		require.NoError(h, list(h.Context(), tenant))
		assert.Len(h, h.ended(), 2)
		assert.Len(h, h.values("http.client.request.duration"), 1)
		assert.NotEmpty(h, h.server.Requests()[1].Header.Get("Traceparent"))
	})
}

// TestAlertsAndDashboard checks that alerts and dashboard use only metrics that are recorded;
// promtool runs the tests of the alerts.
func TestAlertsAndDashboard(t *testing.T) {
	recorded(t, func(h *harness) {
		h.server.Inject(fake.Fault{Status: 429, RetryAfter: "3"})
		require.NoError(h, list(h.Context(), h.client(h.option())))
		recorded := ""
		for _, m := range h.collect().Metrics {
			recorded += strings.ReplaceAll(m.Name, ".", "_") + map[string]string{"s": "_seconds"}[m.Unit] + " "
		}
		for _, file := range []string{"alerts.yml", "dashboard.json"} {
			text, err := os.ReadFile(file)
			require.NoError(h, err)
			used := regexp.MustCompile(`(petstore|http)_client_\w+`).FindAllString(string(text), -1)
			assert.Greater(h, len(used), 10)
			for _, name := range used {
				name, _, _ = strings.Cut(name, "_seconds_")
				assert.Contains(h, recorded, name, file)
			}
		}
	})
}

func TestSecrets(t *testing.T) {
	recorded(t, func(h *harness) {
		ctx, key := h.Context(), h.server.APIKey()
		client := h.client(h.option())
		h.server.Inject(fake.Fault{Status: 400, Code: key, Message: "the key " + key, Header: http.Header{
			"X-Echo": {key}, "X-Request-Id": {key}, "Location": {"https://service.test/?key=" + key},
		}})
		require.Error(h, create(ctx, client))
		_, err := client.Do(ctx, http.MethodGet, "/keys/"+key+"?key="+key, nil, nil, petstore.WithHeader("X-Tenant", "tenant-x"))
		require.Error(h, err)
		h.server.Inject(fake.Fault{Status: 429, RetryAfter: "9000"})
		require.ErrorIs(h, create(ctx, client), petstore.ErrRateLimited)
		leaking := &http.Client{Transport: &http.Transport{DialTLSContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			assert.True(h, trace.SpanContextFromContext(ctx).IsValid(), "a dialer of the user sees the span")
			return nil, errors.New("GET https://service.test/v1/pets?limit=73 with Bearer " + key)
		}}}
		noMetrics := petstoreotel.WithMeterProvider(metricnoop.NewMeterProvider())
		require.Error(h, list(ctx, h.client(h.option(noMetrics), petstore.WithHTTPClient(leaking))))

		spans, err := json.Marshal(tracetest.SpanStubsFromReadOnlySpans(h.spans.Ended()))
		require.NoError(h, err)
		metrics, err := json.Marshal(h.collect())
		require.NoError(h, err)
		assert.Greater(h, strings.Count(string(spans), "error.type"), 4)
		assert.Contains(h, string(metrics), "closed_until")
		for _, secret := range []string{fake.DefaultAPIKey, "Rex", "tenant-x", "Bearer", "key=", "limit="} {
			assert.NotContains(h, string(spans)+string(metrics), secret)
		}
	})
}
