package petstoreotel

import (
	"cmp"
	"context"
	"errors"
	"net/http"
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
	limitScope = attribute.Key("petstore.rate_limit.scope")
)

// recorder has the functions of the trace. Its address is the key of the *call in a context.
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
	sent    int        // number of requests sent, as in Attempts of an error
}

// callOf returns the call that ctx belongs to.
func (r *recorder) callOf(ctx context.Context) *call { return ctx.Value(r).(*call) }

// attributes returns the attributes of WithAttributes, those of the server, and own. If two have
// the same name, the later one counts.
func (r *recorder) attributes(k *call, c petstore.Call, own ...attribute.KeyValue) (all []attribute.KeyValue) {
	if r.more != nil {
		all = append(all, r.more(c)...)
	}
	port, _ := strconv.Atoi(cmp.Or(k.base.Port(), map[string]string{"http": "80", "https": "443"}[k.base.Scheme]))
	return append(append(all, semconv.ServerAddress(k.base.Hostname()), semconv.ServerPort(port)), own...)
}

// measurement returns the attributes of a metric, in the form that its Record and Add take.
func (r *recorder) measurement(k *call, c petstore.Call, own ...attribute.KeyValue) metric.MeasurementOption {
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
	k, c := r.callOf(ctx), info.Call
	own := []attribute.KeyValue{operation.String(c.Operation)}
	if info.Err != nil {
		own = append(own, semconv.ErrorTypeKey.String(info.ErrorType()))
		k.span.SetStatus(codes.Error, "")
	}
	if errors.Is(info.Err, petstore.ErrOutcomeUnknown) {
		own = append(own, attribute.Bool("petstore.outcome_unknown", true))
	}
	r.metrics.callDuration.Record(ctx, info.Duration.Seconds(), r.measurement(k, c, own...))
	// All attributes once more, since WithAttributes may need the KeyID: at the start of the span,
	// it was not known with WithAPIKeyFunc.
	k.span.SetAttributes(r.attributes(k, c, append(own, attribute.Int("petstore.attempts", k.sent))...)...)
	k.span.End()
}

func (r *recorder) waitStart(ctx context.Context, c petstore.Call, w ratelimit.Wait) {
	if w.Reason != ratelimit.ReasonBackoff {
		r.metrics.waitingCalls.Add(ctx, 1, r.measurement(r.callOf(ctx), c))
	}
}

// waitDone adds an event to the span of the call, and records a wait for the rate limit.
func (r *recorder) waitDone(ctx context.Context, c petstore.Call, w ratelimit.Wait) {
	k, reason := r.callOf(ctx), attribute.String("petstore.wait.reason", string(w.Reason))
	k.span.AddEvent("petstore.wait", trace.WithTimestamp(time.Now().Add(-w.Duration)), trace.WithAttributes(
		reason, attribute.Float64("petstore.wait.duration", w.Duration.Seconds()),
		attribute.Int("petstore.wait.waiting_calls", w.Waiting)))
	if w.Reason != ratelimit.ReasonBackoff {
		r.metrics.waitingCalls.Add(ctx, -1, r.measurement(k, c))
		r.metrics.waitTime.Record(ctx, w.Duration.Seconds(), r.measurement(k, c, reason))
	}
}

// attemptContext starts the span of a request, and adds its context to the header. The URL of the
// span has names of parameters instead of values, since the path of Do may be secret.
func (r *recorder) attemptContext(ctx context.Context, c petstore.Call, header http.Header) context.Context {
	k := r.callOf(ctx)
	own := []attribute.KeyValue{
		operation.String(c.Operation), semconv.HTTPRequestMethodKey.String(c.Method),
		semconv.URLTemplate(c.Template), semconv.URLFull(k.base.Scheme + "://" + k.base.Host + c.Template),
	}
	if c.Attempt > 1 {
		own = append(own, semconv.HTTPRequestResendCount(c.Attempt-1))
	}
	ctx, k.request = r.tracer.Start(ctx, c.Method+" "+c.Template,
		trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(r.attributes(k, c, own...)...))
	r.propagators.Inject(ctx, propagation.HeaderCarrier(header))
	return ctx
}

// attemptDone ends the span of a request, and records how long the request took.
func (r *recorder) attemptDone(ctx context.Context, info petstore.AttemptDoneInfo) {
	k, c := r.callOf(ctx), info.Call
	if info.Sent {
		k.sent++
	}
	own := r.attributes(k, c, semconv.HTTPRequestMethodKey.String(c.Method), semconv.URLTemplate(c.Template))
	if info.StatusCode != 0 {
		own = append(own, semconv.HTTPResponseStatusCode(info.StatusCode))
	}
	if failed := info.ErrorType(); failed != "" {
		own = append(own, semconv.ErrorTypeKey.String(failed))
		k.request.SetStatus(codes.Error, "")
	}
	k.request.SetAttributes(own...)
	k.request.End()
	ofRequest := metric.WithAttributeSet(attribute.NewSet(own...))
	r.metrics.requestDuration.Inst().Record(ctx, info.Duration.Seconds(), ofRequest)
	r.showLimit(ctx, info)
}

// showLimit records the rate limit of a response, but not of a 401, whose headers are not about the
// key. A response shows either the minute or the day, so the gauges have the window as their scope.
func (r *recorder) showLimit(ctx context.Context, info petstore.AttemptDoneInfo) {
	limit := info.RateLimit
	if limit.IsZero() || info.StatusCode == http.StatusUnauthorized {
		return
	}
	scope := ratelimit.ReasonMinute
	if time.Until(limit.Reset) > 90*time.Second { // Reset is rounded, and clocks differ
		scope = ratelimit.ReasonDay
	}
	at := r.measurement(r.callOf(ctx), info.Call, limitScope.String(string(scope)))
	r.metrics.limit.Record(ctx, float64(limit.Limit), at)
	r.metrics.remaining.Record(ctx, float64(limit.Remaining), at)
}

// limitClosed records the time at which the closed key of a call opens again.
func (r *recorder) limitClosed(ctx context.Context, c petstore.Call, l ratelimit.Lockout) {
	r.metrics.closedUntil.Record(ctx, float64(l.Until.UnixMilli())/1000,
		r.measurement(r.callOf(ctx), c, limitScope.String(string(l.Reason))))
}

func (r *recorder) limitOpened(ctx context.Context, c petstore.Call, l ratelimit.Lockout) {
	l.Until = time.Unix(0, 0)
	r.limitClosed(ctx, c, l)
}
