package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// telemetry is where spans and metrics go. Your program has an OTLP exporter in place of the one in
// memory, and promhttp serves the registry, or an OTLP exporter takes the metrics as well.
type telemetry struct {
	spans    *tracetest.InMemoryExporter
	tracers  *sdktrace.TracerProvider
	registry *prometheus.Registry
	meters   *metric.MeterProvider
}

func startTelemetry() (*telemetry, error) {
	registry := prometheus.NewRegistry() // promhttp.HandlerFor serves it
	exporter, err := otelprometheus.New(otelprometheus.WithRegisterer(registry), otelprometheus.WithoutScopeInfo(), otelprometheus.WithoutTargetInfo())
	if err != nil {
		return nil, err
	}
	meters := metric.NewMeterProvider(metric.WithReader(exporter))

	spans := tracetest.NewInMemoryExporter()
	return &telemetry{spans, sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)), registry, meters}, nil
}

func (t *telemetry) shutdown(ctx context.Context) error {
	return errors.Join(t.tracers.Shutdown(ctx), t.meters.Shutdown(ctx))
}

// printMetrics prints the metrics in the format of Prometheus, without the buckets of histograms
// and the help.
func (t *telemetry) printMetrics(w io.Writer) error {
	families, err := t.registry.Gather()
	if err != nil {
		return err
	}
	for _, family := range families {
		var text strings.Builder
		if _, err := expfmt.MetricFamilyToText(&text, family); err != nil {
			return err
		}
		for line := range strings.Lines(text.String()) {
			if !strings.HasPrefix(line, "# HELP") && !strings.Contains(line, "_bucket{") {
				fmt.Fprint(w, line)
			}
		}
	}
	return nil
}
