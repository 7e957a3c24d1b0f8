package petstoreotel

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/codes"
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
	fixed, _, parameter := strings.Cut(c.Template, "{") // which is at the end
	same := req.URL.Path == fixed || parameter && strings.HasPrefix(req.URL.Path, fixed)
	if !known || req.Method != c.Method || !same {
		return t.base.RoundTrip(req)
	}
	ctx := t.requestStart(req, k, c)
	sent := req.WithContext(ctx)
	sent.Header = req.Header.Clone() // a RoundTripper must not change that of its caller
	t.propagators.Inject(ctx, propagation.HeaderCarrier(sent.Header))
	return t.base.RoundTrip(sent)
}

// requestStart starts the span of a request. If a transport of the user sends a request of the
// client twice, the span of the first ends here.
func (t *transport) requestStart(req *http.Request, k *call, c petstore.Call) context.Context {
	ctx, span := t.tracer.Start(req.Context(), c.Method+" "+c.Template, trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(t.attributes(c, operation(c), semconv.HTTPRequestMethodKey.String(c.Method),
			semconv.URLTemplate(c.Template), semconv.URLFull(fullURL(req.URL, c.Template)))...))
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
	span := k.request
	k.request, k.statusCode = nil, info.StatusCode
	k.mu.Unlock()
	attrs := i.attributes(info.Call, semconv.HTTPRequestMethodKey.String(info.Call.Method), semconv.URLTemplate(info.Call.Template))
	if info.StatusCode != 0 {
		attrs = append(attrs, semconv.HTTPResponseStatusCode(info.StatusCode))
	}
	class := info.ErrorType()
	if class != "" {
		attrs = append(attrs, semconv.ErrorTypeKey.String(class))
	}
	if span != nil {
		ctx = trace.ContextWithSpan(ctx, span) // for the exemplars of the duration
		span.SetAttributes(attrs...)
		if class != "" {
			span.SetStatus(codes.Error, "")
		}
		span.End()
	}
	i.metrics.requestDuration.Record(ctx, info.Duration.Seconds(), i.with(info.Call, attrs...))
	i.showLimit(ctx, info)
}

// fullURL returns u without what may be secret: it has the id of a pet, and the parameters of
// listPets with values of the service document. Of the path and the query of Do it has nothing.
func fullURL(u *url.URL, template string) string {
	fixed, parameter, _ := strings.Cut(template, "{")
	full, id := u.Scheme+"://"+u.Host, strings.TrimPrefix(u.Path, fixed)
	switch {
	case parameter == "petId}" && strings.Trim(id, "-0123456789") == "":
		return full + fixed + id
	case parameter != "":
		return full + template
	}
	sent, query := u.Query(), make(url.Values)
	if limit, _ := strconv.Atoi(sent.Get("limit")); limit >= 1 && limit <= 100 {
		query.Set("limit", strconv.Itoa(limit))
	}
	if status := sent.Get("status"); petstore.PetStatus(status).Valid() {
		query.Set("status", status)
	}
	return strings.TrimSuffix(full+fixed+"?"+query.Encode(), "?")
}

// Unwrap returns base.
func (t *transport) Unwrap() http.RoundTripper { return t.base }

// CloseIdleConnections closes the idle connections of base.
func (t *transport) CloseIdleConnections() {
	if base, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		base.CloseIdleConnections()
	}
}
