package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"go.opentelemetry.io/otel/attribute"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// telemetry is where spans and metrics go.
type telemetry struct {
	spans    *tracetest.InMemoryExporter
	tracers  *sdktrace.TracerProvider
	registry *prometheus.Registry
	meters   *metric.MeterProvider
}

// startTelemetry is called at the start of a program. In yours, use WithBatcher and an exporter for
// OTLP in place of WithSyncer, which exports each span before the call goes on.
func startTelemetry() (*telemetry, error) {
	registry := prometheus.NewRegistry() // promhttp.HandlerFor serves it
	exporter, err := otelprometheus.New(otelprometheus.WithRegisterer(registry),
		otelprometheus.WithoutScopeInfo(), otelprometheus.WithoutTargetInfo())
	if err != nil {
		return nil, err
	}
	spans, shop := tracetest.NewInMemoryExporter(), resource.NewSchemaless(attribute.String("service.name", "shop"))
	return &telemetry{
		spans:    spans,
		tracers:  sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans), sdktrace.WithResource(shop)),
		registry: registry,
		meters:   metric.NewMeterProvider(metric.WithReader(exporter), metric.WithResource(shop)),
	}, nil
}

// shutdown exports what has not been exported. Call it at the end of a program, with a context of
// its own: if its context has ended, the last spans are lost.
func (t *telemetry) shutdown(ctx context.Context) error {
	return errors.Join(t.tracers.Shutdown(ctx), t.meters.Shutdown(ctx))
}

// printSpans prints the spans of a call and its requests, which end before it, and its waits.
func (t *telemetry) printSpans(w io.Writer) {
	list := func(all []attribute.KeyValue) string {
		set := attribute.NewSet(all...)
		return set.Encoded(attribute.DefaultEncoder())
	}
	for _, span := range t.spans.GetSpans() {
		took := span.EndTime.Sub(span.StartTime).Round(time.Millisecond)
		fmt.Fprintln(w, span.SpanKind, span.Name, took, list(span.Attributes))
		for _, event := range span.Events {
			fmt.Fprintln(w, "  event", event.Name, list(event.Attributes))
		}
	}
	t.spans.Reset()
}

// printMetrics prints the metrics in the format of Prometheus, but no help and only the last bucket
// of a histogram.
func (t *telemetry) printMetrics(w io.Writer) error {
	families, err := t.registry.Gather()
	for _, family := range families {
		family.Help = nil
		for _, m := range family.Metric {
			if m.Histogram != nil {
				m.Histogram.Bucket = nil
			}
		}
		_, failed := expfmt.MetricFamilyToText(w, family)
		err = errors.Join(err, failed)
	}
	return err
}
