package petstoreotel

import (
	"context"
	"net/http"
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

// attemptContext starts the span of a request, and adds its context to the header. The URL of the
// span has names of parameters instead of values, since the path of Do may be secret.
func (r *recorder) attemptContext(ctx context.Context, c petstore.Call, header http.Header) context.Context {
	k := r.of(ctx)
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
	k, c := r.of(ctx), info.Call
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
	r.metrics.requestDuration.Inst().Record(ctx, info.Duration.Seconds(), metric.WithAttributeSet(attribute.NewSet(own...)))
	r.showLimit(ctx, info)
}

// showLimit shows the rate limit of a response, but not that of a 401, which is not the key's. The
// windows of the minute and of the day, which the service shows in turn, are two gauges.
func (r *recorder) showLimit(ctx context.Context, info petstore.AttemptDoneInfo) {
	limit := info.RateLimit
	if limit.IsZero() || info.StatusCode == http.StatusUnauthorized {
		return
	}
	scope := ratelimit.ReasonMinute
	if time.Until(limit.Reset) > 90*time.Second { // Reset is rounded, and clocks differ
		scope = ratelimit.ReasonDay
	}
	at := r.with(r.of(ctx), info.Call, limitScope.String(string(scope)))
	r.metrics.limit.Record(ctx, float64(limit.Limit), at)
	r.metrics.remaining.Record(ctx, float64(limit.Remaining), at)
}

// limitClosed shows until when the rate limit is closed for the key of a call.
func (r *recorder) limitClosed(ctx context.Context, c petstore.Call, l ratelimit.Lockout) {
	r.metrics.closedUntil.Record(ctx, float64(l.Until.UnixMilli())/1000,
		r.with(r.of(ctx), c, limitScope.String(string(l.Reason))))
}

func (r *recorder) limitOpened(ctx context.Context, c petstore.Call, l ratelimit.Lockout) {
	l.Until = time.Unix(0, 0)
	r.limitClosed(ctx, c, l)
}
