package petstoreotel_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.uber.org/goleak"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/fake/faketest"
	"github.com/petstore/petstore-go/petstoreotel"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// harness is a fake of the service, and what petstoreotel records.
type harness struct {
	*testing.T
	server *fake.Server
	spans  *tracetest.SpanRecorder
	reader *metric.ManualReader
}

// recorded runs a test in virtual time, with a harness.
func recorded(t *testing.T, run func(h *harness), opts ...fake.Option) {
	faketest.Bubble(t, func(t *testing.T, server *fake.Server) {
		run(&harness{t, server, tracetest.NewSpanRecorder(), metric.NewManualReader()})
	}, opts...)
}

// option returns what records into the harness.
func (h *harness) option(opts ...petstoreotel.Option) petstore.Option {
	return petstoreotel.New(append([]petstoreotel.Option{
		nil, // is skipped
		petstoreotel.WithTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(h.spans))),
		petstoreotel.WithMeterProvider(metric.NewMeterProvider(metric.WithReader(h.reader))),
		petstoreotel.WithPropagators(propagation.TraceContext{}),
	}, opts...)...)
}

func (h *harness) client(opts ...petstore.Option) *petstore.Client {
	opts = append([]petstore.Option{petstore.WithHTTPClient(h.server.HTTPClient())}, opts...)
	client, err := petstore.NewClient("https://service.test/v1", h.server.APIKey(), opts...)
	require.NoError(h, err)
	return client
}

func list(ctx context.Context, c *petstore.Client) error {
	_, err := c.ListPets(ctx, petstore.ListPetsParams{Limit: 73})
	return err
}

func create(ctx context.Context, c *petstore.Client) error {
	_, err := c.CreatePet(ctx, petstore.NewPet{Name: "Rex", CategoryID: 1})
	return err
}

// ended returns a line for each span, in the order in which they ended (requests before their
// call). A line has kind, name, status, duration and attributes, and the name and attributes of
// each event, but no IDs of calls, which are random.
func (h *harness) ended() (lines []string) {
	require.Len(h, h.spans.Ended(), len(h.spans.Started()), "every span has an end")
	for _, span := range h.spans.Ended() {
		took := span.EndTime().Sub(span.StartTime()).Round(time.Millisecond)
		line := fmt.Sprintf("%s %s %s %v %s", span.SpanKind(), span.Name(), span.Status().Code, took, text(span.Attributes()))
		for _, event := range span.Events() {
			line += fmt.Sprintf(" + %s %s", event.Name, text(event.Attributes))
		}
		lines = append(lines, line)
	}
	return lines
}

// text returns attributes as text, with an @ for those of the server.
func text(attributes []attribute.KeyValue) string {
	set := attribute.NewSet(attributes...)
	set, _ = set.Filter(func(kv attribute.KeyValue) bool { return kv.Key != "petstore.call.id" })
	return strings.ReplaceAll(set.Encoded(attribute.DefaultEncoder()), "server.address=service.test,server.port=443", "@")
}

func (h *harness) collect() metricdata.ScopeMetrics {
	var all metricdata.ResourceMetrics
	require.NoError(h, h.reader.Collect(h.Context(), &all))
	require.Len(h, all.ScopeMetrics, 1)
	return all.ScopeMetrics[0]
}

// values returns the points of a metric by their attributes; a histogram has one value each.
func (h *harness) values(name string) map[string]float64 {
	all := map[string]float64{}
	for _, m := range h.collect().Metrics {
		if strings.TrimPrefix(m.Name, "petstore.client.") != name {
			continue
		}
		switch data := m.Data.(type) {
		case metricdata.Sum[int64]:
			for _, p := range data.DataPoints {
				all[text(p.Attributes.ToSlice())] = float64(p.Value)
			}
		case metricdata.Gauge[float64]:
			for _, p := range data.DataPoints {
				all[text(p.Attributes.ToSlice())] = p.Value
			}
		case metricdata.Histogram[float64]:
			for _, p := range data.DataPoints {
				require.Equal(h, uint64(1), p.Count)
				all[text(p.Attributes.ToSlice())] = p.Sum
			}
		}
	}
	return all
}

func TestSpans_retry(t *testing.T) {
	recorded(t, func(h *harness) {
		h.server.Inject(fake.Fault{Status: 429, RetryAfter: "3"})
		time.AfterFunc(2*time.Second, func() {
			assert.Equal(h, map[string]float64{"@": 1}, h.values("rate_limit.waiting_calls"))
		})
		require.NoError(h, create(h.Context(), h.client(h.option())))
		const request = "petstore.operation=createPet,@,url.full=https://service.test/v1/pets,url.template=/v1/pets"
		assert.Equal(h, []string{
			"client POST /v1/pets Error 200ms error.type=429,http.request.method=POST,http.response.status_code=429," + request,
			"client POST /v1/pets Unset 200ms http.request.method=POST,http.request.resend_count=1,http.response.status_code=201," + request,
			"internal createPet Unset 3.4s http.request.method=POST,petstore.attempts=2,petstore.operation=createPet,@,url.template=/v1/pets" +
				" + petstore.wait petstore.wait.duration=3,petstore.wait.reason=minute,petstore.wait.waiting_calls=1",
		}, h.ended())
		assert.Equal(h, map[string]float64{"@": 0}, h.values("rate_limit.waiting_calls"))
		assert.Equal(h, map[string]float64{"petstore.wait.reason=minute,@": 3}, h.values("rate_limit.wait_time"))
		spans := h.spans.Ended()
		assert.False(h, spans[2].Parent().IsValid())
		assert.Equal(h, spans[0].EndTime(), spans[2].Events()[0].Time, "the wait begins after the request")
		for i, request := range spans[:2] {
			assert.Equal(h, spans[2].SpanContext().SpanID(), request.Parent().SpanID())
			c, sent := request.SpanContext(), h.server.Requests()[i].Header
			assert.Equal(h, fmt.Sprintf("00-%s-%s-01", c.TraceID(), c.SpanID()), sent.Get("Traceparent"))
		}
	}, fake.WithLatency(200*time.Millisecond))
}

// TestSpans_callersTrace checks that a call is in the trace of its caller, and has the call_id of
// the log. A refused dial is no request, and a backoff is no wait for the limit.
func TestSpans_callersTrace(t *testing.T) {
	recorded(t, func(h *harness) {
		var log strings.Builder
		logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		h.server.Inject(fake.Fault{Wire: fake.WireRefuse})
		ctx, caller := sdktrace.NewTracerProvider().Tracer("caller").Start(h.Context(), "caller")
		own := h.option(petstoreotel.WithPropagators(propagation.Baggage{}))
		require.NoError(h, list(ctx, h.client(own, petstore.WithLogger(logger))))
		assert.Empty(h, h.server.Requests()[0].Header.Get("Traceparent"), "it is no baggage")
		spans := h.spans.Ended()
		set := attribute.NewSet(spans[2].Attributes()...)
		id, _ := set.Value("petstore.call.id")
		assert.Contains(h, log.String(), "call_id="+id.AsString()+" ")
		assert.Equal(h, caller.SpanContext().SpanID(), spans[2].Parent().SpanID())
		assert.Equal(h, caller.SpanContext().TraceID(), spans[0].SpanContext().TraceID())
		assert.Contains(h, h.ended()[2], "petstore.attempts=1,")
		assert.Contains(h, h.ended()[2], "petstore.wait.reason=backoff")
		assert.Empty(h, h.values("rate_limit.wait_time"))
		assert.Empty(h, h.values("rate_limit.waiting_calls"))
	})
}
