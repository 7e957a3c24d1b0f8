package petstoreotel

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/semconv/v1.43.0/httpconv"
)

// metrics are the synchronous instruments. The gauges are those of the budgets.
type metrics struct {
	requestDuration httpconv.ClientRequestDuration
	callDuration    metric.Float64Histogram
	waitTime        metric.Float64Histogram
	waitingCalls    metric.Int64UpDownCounter
	waitsGivenUp    metric.Int64Counter
}

// newMetrics makes the instruments. If the meter refuses one, none records anything.
func newMetrics(meter metric.Meter) metrics {
	var m metrics
	var errs [5]error
	m.requestDuration, errs[0] = httpconv.NewClientRequestDuration(meter)
	m.callDuration, errs[1] = meter.Float64Histogram("petstore.client.call.duration", metric.WithUnit("s"),
		metric.WithDescription("Duration of calls, with their waits and requests."),
		// From a response out of a nearby cache to a call that waits for longer than the default.
		metric.WithExplicitBucketBoundaries(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300))
	m.waitTime, errs[2] = meter.Float64Histogram("petstore.client.rate_limit.wait_time", metric.WithUnit("s"),
		metric.WithDescription("Time a request waited for the rate limit."),
		// From the resolution of a scheduler to the two minutes that a call waits by default.
		metric.WithExplicitBucketBoundaries(0.001, 0.01, 0.1, 0.5, 1, 2.5, 5, 10, 20, 30, 45, 60, 90, 120))
	m.waitingCalls, errs[3] = meter.Int64UpDownCounter("petstore.client.rate_limit.waiting_calls",
		metric.WithUnit("{call}"), metric.WithDescription("Calls that wait for the rate limit."))
	m.waitsGivenUp, errs[4] = meter.Int64Counter("petstore.client.rate_limit.waits_given_up", metric.WithUnit("{wait}"),
		metric.WithDescription("Waits that ended with their call, or would have been too long to begin."))
	if err := errors.Join(errs[:]...); err != nil {
		otel.Handle(err)
		return newMetrics(noop.Meter{})
	}
	return m
}

// callsEnabled reports whether calls or waits are measured.
func (m *metrics) callsEnabled(ctx context.Context) bool {
	return m.callDuration.Enabled(ctx) || m.waitTime.Enabled(ctx) || m.waitingCalls.Enabled(ctx) ||
		m.waitsGivenUp.Enabled(ctx)
}
