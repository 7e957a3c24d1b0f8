package petstoreotel

import (
	"context"
	"net/http"
	"net/url"
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
// may send with the context of a call, are sent as they are. If that transport sends a request of
// the call twice, the span of the first one ends here.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	k, known := t.callOf(req.Context())
	c, _ := petstore.CallFromContext(req.Context())
	fixed, _, parameter := strings.Cut(c.Template, "{") // the parameter is at the end
	same := req.URL.Path == fixed || parameter && strings.HasPrefix(req.URL.Path, fixed)
	if !known || req.Method != c.Method || !same {
		return t.base.RoundTrip(req)
	}
	ctx, span := t.tracer.Start(req.Context(), c.Method+" "+c.Template, trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(t.attributes(c, operation.String(c.Operation), semconv.HTTPRequestMethodKey.String(c.Method),
			semconv.URLTemplate(c.Template), semconv.URLFull(fullURL(req.URL, c.Template)))...))
	if c.Attempt > 1 {
		span.SetAttributes(semconv.HTTPRequestResendCount(c.Attempt - 1))
	}
	if last := k.request.Swap(&span); last != nil {
		(*last).End()
	}
	sent := req.WithContext(ctx)
	sent.Header = req.Header.Clone() // a RoundTripper must not change that of its caller
	t.propagators.Inject(ctx, propagation.HeaderCarrier(sent.Header))
	return t.base.RoundTrip(sent)
}

// attemptDone ends the span of a request, and records how long the request took.
func (i *instrumentation) attemptDone(ctx context.Context, info petstore.AttemptDoneInfo) {
	k, _ := i.callOf(ctx)
	k.statusCode = info.StatusCode
	class := info.ErrorType()
	attrs := i.attributes(info.Call, semconv.HTTPRequestMethodKey.String(info.Call.Method), semconv.URLTemplate(info.Call.Template))
	if info.StatusCode != 0 {
		attrs = append(attrs, semconv.HTTPResponseStatusCode(info.StatusCode))
	}
	if class != "" {
		attrs = append(attrs, semconv.ErrorTypeKey.String(class))
	}
	if span := k.request.Swap(nil); span != nil {
		ctx = trace.ContextWithSpan(ctx, *span) // for the exemplars of the duration
		(*span).SetAttributes(attrs...)
		if class != "" {
			(*span).SetStatus(codes.Error, "")
		}
		(*span).End()
	}
	i.metrics.requestDuration.Record(ctx, info.Duration.Seconds(), metric.WithAttributeSet(attribute.NewSet(attrs...)))
	i.showLimit(ctx, info)
}

// fullURL returns u with the id of a pet, but without a query and without the path of Do, which may
// be secret.
func fullURL(u *url.URL, template string) string {
	fixed, parameter, _ := strings.Cut(template, "{")
	if id := strings.TrimPrefix(u.Path, fixed); parameter == "petId}" && strings.Trim(id, "-0123456789") == "" {
		template = fixed + id
	}
	return u.Scheme + "://" + u.Host + template
}

// Unwrap returns base.
func (t *transport) Unwrap() http.RoundTripper { return t.base }
