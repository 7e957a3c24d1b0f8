package petstoreotel_test

import (
	"net/http"
	"testing"

	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/petstoreotel"
)

// BenchmarkCall is a listPets of an empty catalogue through the fake's fastest door, whose own
// share is that of "bare".
func BenchmarkCall(b *testing.B) {
	sampled := func(s sdktrace.Sampler) petstoreotel.Option {
		return petstoreotel.WithTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSampler(s)))
	}
	measured := petstoreotel.WithMeterProvider(sdkmetric.NewMeterProvider(
		sdkmetric.WithReader(sdkmetric.NewManualReader())))
	propagated := petstoreotel.WithPropagators(propagation.TraceContext{})
	for _, bm := range []struct {
		name string
		opts []petstoreotel.Option
	}{
		{"bare", nil},
		{"noop", []petstoreotel.Option{
			petstoreotel.WithTracerProvider(tracenoop.NewTracerProvider()),
			petstoreotel.WithMeterProvider(metricnoop.NewMeterProvider()),
		}},
		{"unsampled", []petstoreotel.Option{
			sampled(sdktrace.NeverSample()), petstoreotel.WithMeterProvider(metricnoop.NewMeterProvider()), propagated,
		}},
		{"metrics", []petstoreotel.Option{sampled(sdktrace.NeverSample()), measured, propagated}},
		{"everything", []petstoreotel.Option{sampled(sdktrace.AlwaysSample()), measured, propagated}},
	} {
		b.Run(bm.name, func(b *testing.B) {
			server := fake.NewServer(fake.WithPlan(fake.Enterprise(0, 0)), fake.WithJournal(0))
			defer server.Close()
			opts := []petstore.Option{petstore.WithHTTPClient(&http.Client{Transport: server.Transport()})}
			if bm.opts != nil {
				opts = append(opts, petstoreotel.New(bm.opts...))
			}
			client := server.Client(opts...)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := client.ListPets(b.Context(), petstore.ListPetsParams{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
