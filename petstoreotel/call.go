package petstoreotel

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/ratelimit"
)

const (
	operation  = attribute.Key("petstore.operation")
	waitReason = attribute.Key("petstore.wait.reason")
	limitScope = attribute.Key("petstore.rate_limit.scope")
)

// instrumentation records the calls of some clients. Its address is the context's key for the
// recorded call, because a client may have two instrumentations.
type instrumentation struct {
	config
	tracer  trace.Tracer
	metrics metrics
	servers sync.Map // attributes of servers by base URL
	shown   sync.Map // by the attributes of a gauge
}

// shown is the key whose limit a gauge showed last.
type shown struct {
	keyID string
	at    time.Time
}

// call is what is recorded of a call until its end.
type call struct {
	span       trace.Span
	request    atomic.Pointer[trace.Span] // of the last request; atomic, since a transport may use other goroutines
	statusCode int                        // of its response; 0 for none
	wait       ratelimit.Reason           // of the last wait since; empty for none
	waited     time.Duration              // the part of petstore.Call.Waited that has been recorded
}

// callOf returns the call that ctx belongs to. If another trace has dropped the context of the
// call, it returns an empty call and false.
func (i *instrumentation) callOf(ctx context.Context) (k *call, known bool) {
	if k, known = ctx.Value(i).(*call); !known {
		k = &call{span: noop.Span{}}
	}
	return k, known
}

// attributes returns the attributes of WithAttributes, those of the server, and more.
func (i *instrumentation) attributes(c petstore.Call, more ...attribute.KeyValue) (attrs []attribute.KeyValue) {
	if i.more != nil {
		attrs = append(attrs, i.more(c)...)
	}
	server, known := i.servers.Load(c.BaseURL)
	if !known {
		u, _ := url.Parse(c.BaseURL) // the client has parsed it already
		u = cmp.Or(u, new(url.URL))
		port, _ := strconv.Atoi(cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme]))
		server = []attribute.KeyValue{semconv.ServerAddress(u.Hostname()), semconv.ServerPort(port)}
		i.servers.Store(c.BaseURL, server)
	}
	return append(append(attrs, server.([]attribute.KeyValue)...), more...)
}

func (i *instrumentation) with(c petstore.Call, more ...attribute.KeyValue) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(i.attributes(c, more...)...))
}

// callStart starts the span of a call.
func (i *instrumentation) callStart(ctx context.Context, c petstore.Call) context.Context {
	k := new(call)
	ctx, k.span = i.tracer.Start(ctx, c.Operation, trace.WithAttributes(i.attributes(c, operation.String(c.Operation),
		attribute.String("petstore.call.id", c.ID),
		semconv.HTTPRequestMethodKey.String(c.Method), semconv.URLTemplate(c.Template))...))
	return context.WithValue(ctx, i, k)
}

// callDone ends the span of a call, and records how long the call took.
func (i *instrumentation) callDone(ctx context.Context, info petstore.CallDoneInfo) {
	k, _ := i.callOf(ctx)
	defer k.span.End()
	attrs := []attribute.KeyValue{operation.String(info.Call.Operation)}
	if info.Err != nil {
		attrs = append(attrs, semconv.ErrorTypeKey.String(info.ErrorType()))
		k.span.SetStatus(codes.Error, "")
		i.gaveUp(ctx, k, info)
	}
	if errors.Is(info.Err, petstore.ErrOutcomeUnknown) {
		attrs = append(attrs, attribute.Bool("petstore.outcome_unknown", true))
	}
	i.metrics.callDuration.Record(ctx, info.Duration.Seconds(), i.with(info.Call, attrs...))
	if k.statusCode != 0 {
		k.span.SetAttributes(semconv.HTTPResponseStatusCode(k.statusCode))
	}
	k.span.SetAttributes(append(attrs, attribute.Int("petstore.attempts", info.Call.Attempt))...)
}

// limits reports whether a wait is for the rate limit, and not a backoff after another failure.
func limits(r ratelimit.Reason) bool {
	return r != "" && r != ratelimit.ReasonBackoff
}

func (i *instrumentation) waitStart(ctx context.Context, c petstore.Call, w ratelimit.Wait) {
	if limits(w.Reason) {
		i.metrics.waitingCalls.Add(ctx, 1, i.with(c))
	}
}

// waitDone adds an event to the span of the call.
func (i *instrumentation) waitDone(ctx context.Context, c petstore.Call, w ratelimit.Wait) {
	k, _ := i.callOf(ctx)
	k.span.AddEvent("petstore.wait", trace.WithTimestamp(time.Now().Add(-w.Duration)), trace.WithAttributes(
		waitReason.String(string(w.Reason)), attribute.Float64("petstore.wait.duration", w.Duration.Seconds()),
		attribute.Int("petstore.wait.waiting_calls", w.Waiting)))
	if limits(w.Reason) {
		i.metrics.waitingCalls.Add(ctx, -1, i.with(c))
	}
	k.wait = w.Reason
}

// attemptStart records the time that a request has waited for the rate limit.
func (i *instrumentation) attemptStart(ctx context.Context, c petstore.Call) {
	k, _ := i.callOf(ctx)
	at := i.with(c)
	if limits(k.wait) {
		at = i.with(c, waitReason.String(string(k.wait)))
	}
	i.metrics.waitTime.Record(ctx, (c.Waited - k.waited).Seconds(), at)
	k.waited, k.wait = c.Waited, ""
}

// gaveUp counts a wait that was cut short, or not begun because it would have been too long.
func (i *instrumentation) gaveUp(ctx context.Context, k *call, info petstore.CallDoneInfo) {
	reason := k.wait
	limited, refused := errors.AsType[*petstore.RateLimitError](info.Err)
	if refused {
		reason = cmp.Or(limited.Reason, reason)
		i.showLockout(ctx, info.Call, limited.Reason, limited.RetryAt) // it may have become longer
	}
	if refused || reason != "" {
		i.metrics.waitsGivenUp.Add(ctx, 1, i.with(info.Call, waitReason.String(string(reason)), semconv.ErrorTypeKey.String(info.ErrorType())))
	}
}

func (i *instrumentation) limitClosed(ctx context.Context, c petstore.Call, l ratelimit.Lockout) {
	i.metrics.processes.Record(ctx, float64(l.Processes), i.with(c))
	i.showLockout(ctx, c, l.Reason, l.Until)
}

func (i *instrumentation) limitOpened(ctx context.Context, c petstore.Call, l ratelimit.Lockout) {
	i.showLockout(ctx, c, l.Reason, time.Unix(0, 0))
}

// showLockout shows until when the rate limit is closed for the key of a call.
func (i *instrumentation) showLockout(ctx context.Context, c petstore.Call, scope ratelimit.Reason, until time.Time) {
	if scope != "" && !until.IsZero() {
		i.metrics.closedUntil.Record(ctx, float64(until.UnixMilli())/1000, i.with(c, limitScope.String(string(scope))))
	}
}

// showLimit shows the rate limit of a response, but not that of a 401, which is not the key's. The
// windows of the minute and of the day, which the service shows in turn, are two gauges. If several
// keys have the same attributes, the gauges show one of them, until that key has had no response
// for a minute.
func (i *instrumentation) showLimit(ctx context.Context, info petstore.AttemptDoneInfo) {
	c, r, set := info.Call, info.RateLimit, attribute.NewSet(i.attributes(info.Call)...)
	found, _ := i.shown.Load(set.Equivalent())
	last, _ := found.(shown)
	other := last.keyID != c.KeyID && time.Since(last.at) < time.Minute
	if other || r.IsZero() || info.StatusCode == http.StatusUnauthorized {
		return
	}
	i.shown.Store(set.Equivalent(), shown{c.KeyID, time.Now()})
	scope := ratelimit.ReasonMinute
	if time.Until(r.Reset) > 90*time.Second { // Reset is rounded, and clocks differ
		scope = ratelimit.ReasonDay
	}
	i.metrics.limit.Record(ctx, float64(r.Limit), i.with(c, limitScope.String(string(scope))))
	i.metrics.remaining.Record(ctx, float64(r.Remaining), i.with(c, limitScope.String(string(scope))))
}
