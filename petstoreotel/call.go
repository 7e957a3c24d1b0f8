package petstoreotel

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/petstore/petstore-go"
)

// AttributeOutcomeUnknown is the key of the attribute that is true for a call whose error matches
// [petstore.ErrOutcomeUnknown], and absent for any other.
const AttributeOutcomeUnknown = attribute.Key("petstore.outcome_unknown")

// clientTrace returns the trace that records calls and waits.
func (i *instrumentation) clientTrace() *petstore.ClientTrace {
	return &petstore.ClientTrace{
		CallStart: i.callStart, CallDone: i.callDone,
		WaitStart: i.waitStart, WaitDone: i.waitDone,
		AttemptStart: i.attemptStart, AttemptDone: i.attemptDone,
	}
}

// call is the state of a call.
type call struct {
	endpoint *endpoint
	span     trace.Span

	mu         sync.Mutex // guards the rest: limiters may report waits concurrently
	statusCode int        // of the last request, 0: no response
	waits      waits
}

// callKey is the context's key for the call that an instrumentation records: a client may have two
// of them.
type callKey struct{ of *instrumentation }

// callOf returns the call that ctx belongs to, nil if it is not recorded.
func (i *instrumentation) callOf(ctx context.Context) *call {
	k, _ := ctx.Value(callKey{i}).(*call)
	return k
}

// callStart starts the span of a call.
func (i *instrumentation) callStart(ctx context.Context, c petstore.Call) context.Context {
	at, span := i.endpoint(c), trace.Span(tracenoop.Span{})
	parent := trace.SpanContextFromContext(ctx).SpanID()
	if i.tracer != nil {
		ctx, span = i.tracer.Start(ctx, c.Operation, at.start...)
	}
	// Without an SDK a span has the context of its parent.
	if id := span.SpanContext().SpanID(); (id == parent || !id.IsValid()) && !i.metrics.callsEnabled(ctx) {
		return ctx
	}
	if span.IsRecording() {
		span.SetAttributes(attribute.String("petstore.call.id", strconv.FormatUint(c.ID, 16)))
	}
	return context.WithValue(ctx, callKey{i}, &call{endpoint: at, span: span})
}

// callDone ends the span of a call, and records how long the call took.
func (i *instrumentation) callDone(ctx context.Context, info petstore.CallDoneInfo) {
	limited, _ := errors.AsType[*petstore.RateLimitError](info.Err)
	if i.budgets != nil && limited != nil {
		i.budgets.closed(i.keyOf(info.Call), limited.Scope, limited.RetryAt)
	}
	k := i.callOf(ctx)
	if k == nil {
		return
	}
	defer k.span.End()
	outcome := outcomeOf(info.Err)
	if i.metrics.callDuration.Enabled(ctx) {
		at := k.endpoint.called
		if len(outcome) > 0 {
			at = metric.WithAttributes(slices.Concat(k.endpoint.attributes, outcome)...)
		}
		i.metrics.callDuration.Record(ctx, info.Duration.Seconds(), at)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	i.gaveUp(ctx, k, info.Err, limited)
	if !k.span.IsRecording() {
		return
	}
	k.span.SetAttributes(attribute.Int("petstore.attempts", info.Call.Attempt))
	if k.statusCode != 0 {
		k.span.SetAttributes(semconv.HTTPResponseStatusCode(k.statusCode))
	}
	k.span.SetAttributes(outcome...)
	if info.Err != nil {
		k.span.SetStatus(codes.Error, "")
	}
}

// attemptDone keeps the rate limit and the status of a response.
func (i *instrumentation) attemptDone(ctx context.Context, info petstore.AttemptDoneInfo) {
	if i.budgets != nil && info.StatusCode != 0 {
		i.budgets.observe(i.keyOf(info.Call), info)
	}
	if k := i.callOf(ctx); k != nil {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.statusCode = info.StatusCode
	}
}

// keyOf returns the API key whose rate limit a call counts against.
func (i *instrumentation) keyOf(c petstore.Call) budgetKey {
	return budgetKey{i.endpoint(c).server, c.KeyID}
}

// outcomeOf returns the attributes of the error of a call, none for a success.
func outcomeOf(err error) []attribute.KeyValue {
	if err == nil {
		return nil
	}
	attrs := []attribute.KeyValue{semconv.ErrorTypeKey.String(callErrorType(err))}
	if errors.Is(err, petstore.ErrOutcomeUnknown) {
		attrs = append(attrs, AttributeOutcomeUnknown.Bool(true))
	}
	return attrs
}

// callErrorType is the class of the error of a call. An error matches several; the first of them
// ended the call.
func callErrorType(err error) string {
	class := contextErrorType(err)
	refused, ok := errors.AsType[*petstore.APIError](err)
	switch {
	case class != "":
		return class
	case ok:
		return strconv.Itoa(refused.StatusCode)
	case errors.Is(err, petstore.ErrRateLimited):
		return "rate_limited"
	case errors.Is(err, petstore.ErrInvalidResponse):
		return "invalid_response"
	}
	return errorType(err)
}
