package petstoreotel

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"strconv"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/petstore/petstore-go"
)

// call is what is recorded of a call until its end.
type call struct {
	server []attribute.KeyValue // address and port
	scheme string
	span   trace.Span

	mu         sync.Mutex          // guards the rest: transports and limiters may use goroutines of their own
	request    trace.Span          // of the last request; nil if it has not reached the transport
	protocol   string              // version of HTTP of its response
	statusCode int                 // of its response; 0 for none
	lastWait   petstore.WaitReason // reason of the last wait since; empty for none
	longest    time.Duration
	reason     petstore.WaitReason // of the longest wait for the rate limit since
	waited     time.Duration       // the part of petstore.Call.Waited that has been recorded
}

// callKey is the context's key for the call that an instrumentation records: a client may have two
// of them.
type callKey struct{ of *instrumentation }

// callOf returns the call that ctx belongs to. If another trace has dropped the context of the
// call, it returns an empty one and false.
func (i *instrumentation) callOf(ctx context.Context) (k *call, known bool) {
	if k, known = ctx.Value(callKey{i}).(*call); !known {
		k = &call{span: noop.Span{}}
	}
	return k, known
}

// callStart starts the span of a call.
func (i *instrumentation) callStart(ctx context.Context, c petstore.Call) context.Context {
	k := serverOf(c.BaseURL)
	ctx, k.span = i.tracer.Start(ctx, c.Operation, trace.WithAttributes(k.server...), trace.WithAttributes(
		operation(c), attribute.String("petstore.call.id", strconv.FormatUint(c.ID, 16)),
		semconv.HTTPRequestMethodKey.String(c.Method), semconv.URLTemplate(c.Template)))
	return context.WithValue(ctx, callKey{i}, k)
}

// callDone ends the span of a call, and records how long the call took.
func (i *instrumentation) callDone(ctx context.Context, info petstore.CallDoneInfo) {
	k, _ := i.callOf(ctx)
	defer k.span.End()
	outcome := outcomeOf(info.Err)
	i.metrics.callDuration.Record(ctx, info.Duration.Seconds(), metric.WithAttributes(k.server...),
		metric.WithAttributes(append(outcome, operation(info.Call))...))
	if limited, ok := errors.AsType[*petstore.RateLimitError](info.Err); ok {
		i.lockout(ctx, k, info.Call, limited.Scope, limited.RetryAt)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	i.gaveUp(ctx, k, info.Err)
	k.span.SetAttributes(attribute.Int("petstore.attempts", info.Call.Attempt))
	if k.statusCode != 0 {
		k.span.SetAttributes(semconv.HTTPResponseStatusCode(k.statusCode))
	}
	k.span.SetAttributes(outcome...)
	if info.Err != nil {
		k.span.SetStatus(codes.Error, "")
	}
}

func operation(c petstore.Call) attribute.KeyValue {
	return attribute.String("petstore.operation", c.Operation)
}

// outcomeOf returns the attributes of the error of a call, none for a success.
func outcomeOf(err error) []attribute.KeyValue {
	if err == nil {
		return nil
	}
	attrs := []attribute.KeyValue{semconv.ErrorTypeKey.String(errorType(err))}
	if errors.Is(err, petstore.ErrOutcomeUnknown) {
		attrs = append(attrs, attribute.Bool("petstore.outcome_unknown", true))
	}
	return attrs
}

// serverOf returns a call of the server at a base URL.
func serverOf(baseURL string) *call {
	u, _ := url.Parse(baseURL) // the client has parsed it already
	u = cmp.Or(u, new(url.URL))
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		port = map[string]int{"http": 80, "https": 443}[u.Scheme]
	}
	server := []attribute.KeyValue{semconv.ServerAddress(u.Hostname()), semconv.ServerPort(port)}
	return &call{server: server, scheme: u.Scheme}
}
