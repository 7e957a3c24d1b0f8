package petstoreotel

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/petstore/petstore-go"
)

const (
	// AttributeWaitReason is the key of the attribute with a Reason of [petstore.Wait]: minute, day,
	// ban, response, background, backoff or retry_after.
	AttributeWaitReason = attribute.Key("petstore.wait.reason")
	// AttributeWaitDuration is the key of the attribute with the length of a wait in seconds.
	AttributeWaitDuration = attribute.Key("petstore.wait.duration")
)

// waits are the waits of a call since its last request.
type waits struct {
	last    petstore.WaitReason // "": there was none
	total   time.Duration       // of the waits for the rate limit
	longest time.Duration       // of these
	reason  petstore.WaitReason // of the longest
	counted time.Duration       // the part of petstore.Call.Waited that has been recorded
}

// forRateLimit reports whether a wait is for the rate limit: the backoff after a failure is not.
func forRateLimit(reason petstore.WaitReason) bool { return reason != petstore.WaitBackoff }

func (i *instrumentation) waitStart(ctx context.Context, w petstore.Wait) {
	switch scope := petstore.LimitScope(w.Reason); scope {
	case petstore.ScopeMinute, petstore.ScopeDay, petstore.ScopeBan:
		if i.budgets != nil {
			i.budgets.closed(i.keyOf(w.Call), scope, w.Until)
		}
	}
	if k := i.callOf(ctx); k != nil && forRateLimit(w.Reason) {
		i.metrics.waitingCalls.Add(ctx, 1, k.endpoint.served)
	}
}

func (i *instrumentation) waitDone(ctx context.Context, w petstore.Wait) {
	k := i.callOf(ctx)
	if k == nil {
		return
	}
	if forRateLimit(w.Reason) {
		i.metrics.waitingCalls.Add(ctx, -1, k.endpoint.served)
	}
	if k.span.IsRecording() {
		k.span.AddEvent("petstore.wait", trace.WithTimestamp(time.Now().Add(-w.Duration)), trace.WithAttributes(
			AttributeWaitReason.String(string(w.Reason)),
			AttributeWaitDuration.Float64(w.Duration.Seconds()),
			attribute.Int("petstore.wait.waiting_calls", w.Waiting)))
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.waits.last = w.Reason; !forRateLimit(w.Reason) {
		return
	}
	k.waits.total += w.Duration
	if k.waits.reason == "" || w.Duration > k.waits.longest {
		k.waits.reason, k.waits.longest = w.Reason, w.Duration
	}
}

// attemptStart records the time that a request has waited. For a limiter that does not report its
// waits by [petstore.LimitRequest.StartWait] that is the time that it took.
func (i *instrumentation) attemptStart(ctx context.Context, c petstore.Call) {
	k := i.callOf(ctx)
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	wait, reason := max(k.waits.total, c.Waited-k.waits.counted), k.waits.reason
	k.waits = waits{counted: c.Waited}
	if m := i.metrics.waitTime; m.Enabled(ctx) {
		m.Record(ctx, wait.Seconds(), k.waitAttributes(reason))
	}
}

// gaveUp counts a wait that was cut short, or not begun because it would have been too long.
func (i *instrumentation) gaveUp(ctx context.Context, k *call, err error, limited *petstore.RateLimitError) {
	m := i.metrics.waitsGivenUp
	ended := k.waits.last != "" && contextErrorType(err) != ""
	if limited == nil && !ended || !m.Enabled(ctx) {
		return
	}
	reason := k.waits.last
	if limited != nil && limited.Scope != "" {
		reason = petstore.WaitReason(limited.Scope)
	}
	m.Add(ctx, 1, k.waitAttributes(reason, semconv.ErrorTypeKey.String(callErrorType(err))))
}

func (k *call) waitAttributes(reason petstore.WaitReason, more ...attribute.KeyValue) metric.MeasurementOption {
	if reason == "" && len(more) == 0 {
		return k.endpoint.served
	}
	attrs := append(k.endpoint.server.attributes(), more...)
	if reason != "" {
		attrs = append(attrs, AttributeWaitReason.String(string(reason)))
	}
	return metric.WithAttributes(attrs...)
}
