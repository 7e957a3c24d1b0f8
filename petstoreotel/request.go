package petstoreotel

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/petstore/petstore-go"
)

// transport starts the span of each request, and sends its context along. The span ends with
// attemptDone, when the client has read the response.
type transport struct {
	*instrumentation
	base http.RoundTripper
}

// RoundTrip sends a request of a call within a span. Other requests, which a transport of the user
// may send with the context of a call, are sent as they are.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	k, known := t.callOf(req.Context())
	c, _ := petstore.CallFromContext(req.Context())
	if !known || req.Method != c.Method || !matches(req.URL.Path, c.Template) {
		return t.base.RoundTrip(req)
	}
	ctx := t.requestStart(req, k, c)
	sent := req.WithContext(ctx)
	sent.Header = req.Header.Clone() // a RoundTripper must not change that of its caller
	t.propagators.Inject(ctx, propagation.HeaderCarrier(sent.Header))
	resp, err := t.base.RoundTrip(sent)
	if err == nil && resp != nil {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.protocol = protocolVersion(resp)
	}
	return resp, err
}

// requestStart starts the span of a request. If a transport of the user sends a request of the
// client twice, the span of the first ends here.
func (t *transport) requestStart(req *http.Request, k *call, c petstore.Call) context.Context {
	ctx, span := t.tracer.Start(req.Context(), c.Method+" "+c.Template, trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(k.requested(c)...),
		trace.WithAttributes(operation(c), semconv.URLFull(fullURL(req.URL))))
	if c.Attempt > 1 {
		span.SetAttributes(semconv.HTTPRequestResendCount(c.Attempt - 1))
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.request != nil {
		k.request.End()
	}
	k.request = span
	return ctx
}

// attemptDone ends the span of a request, and records how long the request took.
func (i *instrumentation) attemptDone(ctx context.Context, info petstore.AttemptDoneInfo) {
	k, _ := i.callOf(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.statusCode = info.StatusCode
	outcome := k.requestOutcome(info)
	if span := k.request; span != nil {
		ctx = trace.ContextWithSpan(ctx, span) // for the exemplars of the duration
		span.SetAttributes(outcome...)
		if info.Err != nil || info.StatusCode >= http.StatusBadRequest {
			span.SetStatus(codes.Error, "")
		}
		span.End()
	}
	i.metrics.requestDuration.RecordSet(ctx, info.Duration.Seconds(),
		attribute.NewSet(append(k.requested(info.Call), outcome...)...))
	if r := info.RateLimit; !r.IsZero() {
		i.metrics.limit.Record(ctx, int64(r.Limit), metric.WithAttributes(k.server...))
		i.metrics.remaining.Record(ctx, int64(r.Remaining), metric.WithAttributes(k.server...))
	}
	k.request, k.protocol = nil, ""
}

// requested returns the attributes of a request that its span and its duration have.
func (k *call) requested(c petstore.Call) []attribute.KeyValue {
	return append(slices.Clone(k.server), semconv.HTTPRequestMethodKey.String(c.Method),
		semconv.URLTemplate(c.Template), semconv.URLScheme(k.scheme))
}

// requestOutcome returns the attributes of the end of a request.
func (k *call) requestOutcome(info petstore.AttemptDoneInfo) (attrs []attribute.KeyValue) {
	if info.StatusCode != 0 {
		attrs = append(attrs, semconv.HTTPResponseStatusCode(info.StatusCode))
	}
	if k.protocol != "" {
		attrs = append(attrs, semconv.NetworkProtocolVersion(k.protocol))
	}
	switch {
	case info.StatusCode >= http.StatusBadRequest:
		attrs = append(attrs, semconv.ErrorTypeKey.String(strconv.Itoa(info.StatusCode)))
	case info.Err != nil:
		attrs = append(attrs, semconv.ErrorTypeKey.String(errorType(info.Err)))
	}
	return attrs
}

// matches reports whether path has the form of template, whose parameter is at its end.
func matches(path, template string) bool {
	fixed, _, parameter := strings.Cut(template, "{")
	return path == fixed || parameter && strings.HasPrefix(path, fixed)
}

// fullURL returns u with its path, and the parameters of listPets that have values of the service
// document. All else is left out, because it may be secret.
func fullURL(u *url.URL) string {
	full := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
	sent, known := u.Query(), make(url.Values)
	if limit := sent.Get("limit"); limit != "" && strings.Trim(limit, "0123456789") == "" {
		known.Set("limit", limit)
	}
	if status := sent.Get("status"); petstore.PetStatus(status).Valid() {
		known.Set("status", status)
	}
	full.RawQuery = known.Encode()
	return full.String()
}

// protocolVersion returns the version as the conventions write it: 1.0, 1.1, 2, 3.
func protocolVersion(resp *http.Response) string {
	if resp.ProtoMajor > 1 {
		return strconv.Itoa(resp.ProtoMajor)
	}
	return strings.TrimPrefix(resp.Proto, "HTTP/")
}

// Unwrap returns base.
func (t *transport) Unwrap() http.RoundTripper { return t.base }

// CloseIdleConnections closes the idle connections of base.
func (t *transport) CloseIdleConnections() {
	if base, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		base.CloseIdleConnections()
	}
}
