package petstoreotel

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/semconv/v1.43.0/httpconv"

	"github.com/petstore/petstore-go"
)

// The names of the metrics beside http.client.request.duration.
const (
	// MetricWaitTime is a histogram: how long a request waited for the rate limit, in seconds.
	MetricWaitTime = "petstore.client.rate_limit.wait_time"
	// MetricWaitingCalls is an up-down counter: the calls that wait for the rate limit at this moment.
	MetricWaitingCalls = "petstore.client.rate_limit.waiting_calls"
	// MetricLimit is a gauge: the number of requests that the current window allows.
	MetricLimit = "petstore.client.rate_limit.limit"
	// MetricRemaining is a gauge: the number of requests left in the current window.
	MetricRemaining = "petstore.client.rate_limit.remaining"
)

// metrics are the instruments. What is true at any moment is looked up in the clients when it is collected.
type metrics struct {
	duration httpconv.ClientRequestDuration
	waitTime metric.Float64Histogram
	clients  *clients
}

// start makes the instruments, and returns what makes the meter let go of the clients.
func (m *metrics) start(meter metric.Meter) (stop func()) {
	var err error
	if m.duration, err = httpconv.NewClientRequestDuration(meter); err != nil {
		otel.Handle(err)
	}
	m.waitTime, err = meter.Float64Histogram(MetricWaitTime, metric.WithUnit("s"),
		metric.WithDescription("Time a request waited for the rate limit."),
		// From the grain of a scheduler to the two minutes that a call waits by default.
		metric.WithExplicitBucketBoundaries(0.001, 0.01, 0.1, 0.5, 1, 2.5, 5, 10, 20, 30, 45, 60, 90, 120))
	if err != nil {
		otel.Handle(err)
		m.waitTime = noop.Float64Histogram{}
	}
	m.clients = &clients{}
	stop, err = m.clients.watch(meter)
	if err != nil {
		otel.Handle(err)
	}
	return stop
}

// sent records how long a request about to be sent has waited. Without k, which may be nil, only the first request of
// a call can tell.
func (m *metrics) sent(ctx context.Context, c petstore.Call, k *call) {
	switch {
	case k != nil:
		m.waitTime.Record(ctx, k.newlyWaited(c).Seconds(), k.client.attributes)
	case c.Attempt == 1:
		m.waitTime.Record(ctx, c.Waited.Seconds(), m.clients.of(c.Client).attributes)
	}
}
