package petstoreotel_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
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
	t.Helper()
	faketest.Bubble(t, func(t *testing.T, server *fake.Server) {
		run(&harness{t, server, tracetest.NewSpanRecorder(), metric.NewManualReader()})
	}, opts...)
}

// option returns what records into the harness.
func (h *harness) option(opts ...petstoreotel.Option) petstore.Option {
	return petstoreotel.New(append([]petstoreotel.Option{
		petstoreotel.WithTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(h.spans))),
		petstoreotel.WithMeterProvider(metric.NewMeterProvider(metric.WithReader(h.reader))),
		petstoreotel.WithPropagators(propagation.TraceContext{}),
	}, opts...)...)
}

// client returns a client with opts.
func (h *harness) client(opts ...petstore.Option) *petstore.Client {
	h.Helper()
	opts = append([]petstore.Option{petstore.WithHTTPClient(h.server.HTTPClient())}, opts...)
	client, err := petstore.NewClient("https://service.test/v1", h.server.APIKey(), opts...)
	require.NoError(h, err)
	return client
}

func list(ctx context.Context, c *petstore.Client, opts ...petstore.CallOption) error {
	_, err := c.ListPets(ctx, petstore.ListPetsParams{Limit: 73}, opts...)
	return err
}

func create(ctx context.Context, c *petstore.Client) error {
	_, err := c.CreatePet(ctx, petstore.NewPet{Name: "Rex", CategoryID: 1})
	return err
}

// ended has a line for each span in the order in which they ended, requests before their call: its
// kind, name, status, duration and attributes, and for each event its name and attributes. Calls
// have an ID that no test can know.
func (h *harness) ended() (lines []string) {
	h.Helper()
	require.Len(h, h.spans.Ended(), len(h.spans.Started()), "every span has an end")
	for _, span := range h.spans.Ended() {
		took := span.EndTime().Sub(span.StartTime()).Round(time.Millisecond)
		status := map[codes.Code]string{codes.Unset: "ok", codes.Error: "failed"}[span.Status().Code]
		line := fmt.Sprintf("%s %s %s %v %s", span.SpanKind(), span.Name(), status, took, text(span.Attributes()))
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
	h.Helper()
	var all metricdata.ResourceMetrics
	require.NoError(h, h.reader.Collect(h.Context(), &all))
	require.Len(h, all.ScopeMetrics, 1)
	return all.ScopeMetrics[0]
}

// values has the points of a metric of the rate limit or of calls by their attributes. Of a histogram
// it has the number of values, and their sum behind a +.
func (h *harness) values(name string) map[string]float64 {
	h.Helper()
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
				at := text(p.Attributes.ToSlice())
				all[at], all["+"+at] = float64(p.Count), p.Sum
			}
		}
	}
	return all
}
