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

// eventWait is the name of the event for a wait on the span of a call. Its time is the beginning of
// the wait.
const eventWait = "petstore.wait"

const (
	// AttributeWaitReason is the key of the attribute with a Reason of [petstore.Wait]: minute, day,
	// ban, response, background, backoff or retry_after.
	AttributeWaitReason = attribute.Key("petstore.wait.reason")
	// AttributeWaitDuration is the key of the attribute with the length of a wait in seconds.
	AttributeWaitDuration = attribute.Key("petstore.wait.duration")
	// attributeWaitingCalls is the key of the attribute with the number of calls in the queue when
	// a wait began, the waiting one included.
	attributeWaitingCalls = attribute.Key("petstore.wait.waiting_calls")
)

// waits are the waits of a call since its last request.
type waits struct {
	last    string        // "": there was none
	total   time.Duration // of the waits for the rate limit
	longest time.Duration // of these
	reason  string        // of the longest
	counted time.Duration // the part of petstore.Call.Waited that has been recorded
}

func (w *waits) add(reason string, d time.Duration) {
	w.last = reason
	if !forRateLimit(reason) {
		return
	}
	w.total += d
	if w.reason == "" || d > w.longest {
		w.reason, w.longest = reason, d
	}
}

// forRateLimit reports whether a wait is for the rate limit: the backoff after a failure is not.
func forRateLimit(reason string) bool { return reason != "backoff" }

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
		k.span.AddEvent(eventWait, trace.WithTimestamp(time.Now().Add(-w.Duration)), trace.WithAttributes(
			AttributeWaitReason.String(w.Reason),
			AttributeWaitDuration.Float64(w.Duration.Seconds()),
			attributeWaitingCalls.Int(w.Waiting)))
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.waits.add(w.Reason, w.Duration)
}

// sending records the time that a request has waited. For a limiter that does not report its waits
// by StartWait of package limiter that is the time that it took.
func (k *call) sending(ctx context.Context, c petstore.Call) {
	k.mu.Lock()
	defer k.mu.Unlock()
	wait, reason := max(k.waits.total, c.Waited-k.waits.counted), k.waits.reason
	k.waits = waits{counted: c.Waited}
	if m := k.instrumentation.metrics.waitTime; m.Enabled(ctx) {
		m.Record(ctx, wait.Seconds(), k.waitAttributes(reason))
	}
}

// gaveUp counts a wait that was cut short, or not begun because it would have been too long.
func (k *call) gaveUp(ctx context.Context, err error, limited *petstore.RateLimitError) {
	m := k.instrumentation.metrics.waitsGivenUp
	ended := k.waits.last != "" && contextErrorType(err) != ""
	if limited == nil && !ended || !m.Enabled(ctx) {
		return
	}
	reason := k.waits.last
	if limited != nil && limited.Scope != "" {
		reason = string(limited.Scope)
	}
	m.Add(ctx, 1, k.waitAttributes(reason, semconv.ErrorTypeKey.String(callErrorType(err))))
}

func (k *call) waitAttributes(reason string, more ...attribute.KeyValue) metric.MeasurementOption {
	if reason == "" && len(more) == 0 {
		return k.endpoint.served
	}
	attrs := append(k.endpoint.server.attributes(), more...)
	if reason != "" {
		attrs = append(attrs, AttributeWaitReason.String(reason))
	}
	return metric.WithAttributes(attrs...)
}
