package petstoreotel

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/petstore/petstore-go"
)

// forRateLimit reports whether a wait is for the rate limit: the backoff after a failure is not.
func forRateLimit(w petstore.Wait) bool { return w.Reason != petstore.WaitBackoff }

func (i *instrumentation) waitStart(ctx context.Context, w petstore.Wait) {
	if k, _ := i.callOf(ctx); forRateLimit(w) {
		i.metrics.waitingCalls.Add(ctx, 1, metric.WithAttributes(k.server...))
	}
}

// waitDone adds an event to the span of the call.
func (i *instrumentation) waitDone(ctx context.Context, w petstore.Wait) {
	k, _ := i.callOf(ctx)
	k.span.AddEvent("petstore.wait", trace.WithTimestamp(time.Now().Add(-w.Duration)), trace.WithAttributes(
		attribute.String("petstore.wait.reason", string(w.Reason)),
		attribute.Float64("petstore.wait.duration", w.Duration.Seconds()),
		attribute.Int("petstore.wait.waiting_calls", w.Waiting)))
	k.mu.Lock()
	defer k.mu.Unlock()
	k.lastWait = w.Reason
	if !forRateLimit(w) {
		return
	}
	i.metrics.waitingCalls.Add(ctx, -1, metric.WithAttributes(k.server...))
	if k.reason == "" || w.Duration > k.longest {
		k.reason, k.longest = w.Reason, w.Duration
	}
}

// attemptStart records the time that a request has waited for the rate limit.
func (i *instrumentation) attemptStart(ctx context.Context, c petstore.Call) {
	k, _ := i.callOf(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	i.metrics.waitTime.Record(ctx, (c.Waited - k.waited).Seconds(), k.measured(k.reason))
	k.waited, k.lastWait, k.reason, k.longest = c.Waited, "", "", 0
}

// gaveUp counts a wait that was cut short, or not begun because it would have been too long.
func (i *instrumentation) gaveUp(ctx context.Context, k *call, err error) {
	limited, refused := errors.AsType[*petstore.RateLimitError](err)
	if !refused && (k.lastWait == "" || contextErrorType(err) == "") {
		return
	}
	reason := k.lastWait
	if refused && limited.Scope != "" {
		reason = petstore.WaitReason(limited.Scope)
	}
	i.metrics.waitsGivenUp.Add(ctx, 1, k.measured(reason, semconv.ErrorTypeKey.String(errorType(err))))
}

// measured returns the attributes of a measurement about a wait. reason is empty if there was none.
func (k *call) measured(reason petstore.WaitReason, more ...attribute.KeyValue) metric.MeasurementOption {
	attrs := append(more, k.server...)
	if reason != "" {
		attrs = append(attrs, attribute.String("petstore.wait.reason", string(reason)))
	}
	return metric.WithAttributes(attrs...)
}
