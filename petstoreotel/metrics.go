package petstoreotel

import (
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/semconv/v1.43.0/httpconv"
)

type metrics struct {
	requestDuration               httpconv.ClientRequestDuration
	callDuration, waitTime        metric.Float64Histogram
	waitingCalls                  metric.Int64UpDownCounter
	limit, remaining, closedUntil metric.Float64Gauge
}

func newMetrics(meter metric.Meter) metrics {
	const limits = "petstore.client.rate_limit."
	unit, means := metric.WithUnit, metric.WithDescription
	return metrics{
		requestDuration: instrument(httpconv.NewClientRequestDuration(meter)),
		callDuration: instrument(meter.Float64Histogram("petstore.client.call.duration", unit("s"),
			means("Duration of calls, with their waits and requests."),
			metric.WithExplicitBucketBoundaries(
				0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300))),
		waitTime: instrument(meter.Float64Histogram(limits+"wait_time", unit("s"),
			means("Duration of waits for the rate limit."),
			metric.WithExplicitBucketBoundaries(0.001, 0.01, 0.1, 0.5, 1, 2.5, 5, 10, 20, 30, 45, 60, 90, 120))),
		waitingCalls: instrument(meter.Int64UpDownCounter(limits+"waiting_calls", unit("{call}"),
			means("Calls that wait for the rate limit."))),
		limit: instrument(meter.Float64Gauge(limits+"limit", unit("{request}"),
			means("Requests that the window of the last response allows."))),
		remaining: instrument(meter.Float64Gauge(limits+"remaining", unit("{request}"),
			means("Requests left in the window of the last response."))),
		closedUntil: instrument(meter.Float64Gauge(limits+"closed_until", unit("s"),
			means("When the closed limit opens, as Unix time; 0 if it has opened."))),
	}
}

// instrument returns the instrument, and reports an error. Such an error is about a wrong name or
// unit, and the instrument works all the same.
func instrument[T any](instrument T, err error) T {
	if err != nil {
		otel.Handle(err)
	}
	return instrument
}
