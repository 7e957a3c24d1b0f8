package petstoreotel

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/ratelimit"
)

const (
	operation  = attribute.Key("petstore.operation")
	waitReason = attribute.Key("petstore.wait.reason")
	limitScope = attribute.Key("petstore.rate_limit.scope")
)

// recorder records calls. Its address is the context's key for a *call.
type recorder struct {
	tracers     trace.TracerProvider
	meters      metric.MeterProvider
	propagators propagation.TextMapPropagator
	more        func(petstore.Call) []attribute.KeyValue // of WithAttributes; nil for none
	tracer      trace.Tracer
	metrics     metrics
}

// call is a call that is being recorded. Only its own goroutine uses it, as ClientTrace promises.
type call struct {
	base    *url.URL
	span    trace.Span
	request trace.Span // of the last request
}

// of returns the call that ctx belongs to.
func (r *recorder) of(ctx context.Context) *call { return ctx.Value(r).(*call) }

// attributes returns the attributes of WithAttributes, those of the server, and own. The last one
// with a key counts.
func (r *recorder) attributes(k *call, c petstore.Call, own ...attribute.KeyValue) (all []attribute.KeyValue) {
	if r.more != nil {
		all = append(all, r.more(c)...)
	}
	port, _ := strconv.Atoi(cmp.Or(k.base.Port(), map[string]string{"http": "80", "https": "443"}[k.base.Scheme]))
	return append(append(all, semconv.ServerAddress(k.base.Hostname()), semconv.ServerPort(port)), own...)
}

// with returns attributes for a metric.
func (r *recorder) with(k *call, c petstore.Call, own ...attribute.KeyValue) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(r.attributes(k, c, own...)...))
}

// callStart starts the span of a call.
func (r *recorder) callStart(ctx context.Context, c petstore.Call) context.Context {
	base, _ := url.Parse(c.BaseURL) // the client has parsed it already
	k := &call{base: base}
	ctx, k.span = r.tracer.Start(ctx, c.Operation, trace.WithAttributes(r.attributes(k, c,
		operation.String(c.Operation), attribute.String("petstore.call.id", c.ID),
		semconv.HTTPRequestMethodKey.String(c.Method), semconv.URLTemplate(c.Template))...))
	return context.WithValue(ctx, r, k)
}

// callDone ends the span of a call, and records how long the call took.
func (r *recorder) callDone(ctx context.Context, info petstore.CallDoneInfo) {
	k, c := r.of(ctx), info.Call
	own := []attribute.KeyValue{operation.String(c.Operation)}
	if info.Err != nil {
		own = append(own, semconv.ErrorTypeKey.String(info.ErrorType()))
		k.span.SetStatus(codes.Error, "")
	}
	if errors.Is(info.Err, petstore.ErrOutcomeUnknown) {
		own = append(own, attribute.Bool("petstore.outcome_unknown", true))
	}
	r.metrics.callDuration.Record(ctx, info.Duration.Seconds(), r.with(k, c, own...))
	// All attributes once more: at the start, the key of WithAPIKeyFunc was not known.
	k.span.SetAttributes(r.attributes(k, c, append(own, attribute.Int("petstore.attempts", c.Attempt))...)...)
	k.span.End()
}

func (r *recorder) waitStart(ctx context.Context, c petstore.Call, w ratelimit.Wait) {
	if w.Reason != ratelimit.ReasonBackoff {
		r.metrics.waitingCalls.Add(ctx, 1, r.with(r.of(ctx), c))
	}
}

// waitDone adds an event to the span of the call, and records a wait for the rate limit.
func (r *recorder) waitDone(ctx context.Context, c petstore.Call, w ratelimit.Wait) {
	k, reason := r.of(ctx), waitReason.String(string(w.Reason))
	k.span.AddEvent("petstore.wait", trace.WithTimestamp(time.Now().Add(-w.Duration)), trace.WithAttributes(
		reason, attribute.Float64("petstore.wait.duration", w.Duration.Seconds()),
		attribute.Int("petstore.wait.waiting_calls", w.Waiting)))
	if w.Reason != ratelimit.ReasonBackoff {
		r.metrics.waitingCalls.Add(ctx, -1, r.with(k, c))
		r.metrics.waitTime.Record(ctx, w.Duration.Seconds(), r.with(k, c, reason))
	}
}
