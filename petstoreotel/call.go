package petstoreotel

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/petstore/petstore-go"
)

// AttributeOperation is the key of the attribute with the operationId of the service document: listPets, createPet
// or getPet.
const AttributeOperation = attribute.Key("petstore.operation")

// call is what the requests of a call find in their context. They come one after the other, unless a transport in
// between multiplies them.
type call struct {
	span       trace.Span
	client     *client
	waited     atomic.Int64 // of petstore.Call.Waited, what has been recorded
	statusCode atomic.Int64 // of the last request, 0: no answer
}

type callKey struct{}

// callOf returns the call that sends req. What the function of [petstore.WithAPIKeyFunc] asks for with the call's
// context is part of its trace, but goes elsewhere.
func callOf(req *http.Request) (petstore.Call, bool) {
	c, ok := petstore.CallFromContext(req.Context())
	if !ok || req.URL == nil || req.Method != c.Method || !matches(req.URL.Path, c.Template) {
		return petstore.Call{}, false
	}
	return c, true
}

// matches reports whether path is template with a value for its parameter, if it has one.
func matches(path, template string) bool {
	fixed, parameter := strings.CutSuffix(template, "{petId}")
	value, ok := strings.CutPrefix(path, fixed)
	return ok && parameter == (value != "")
}

// CallStarted opens the span of a call.
func (t *transport) CallStarted(ctx context.Context, c petstore.Call) (context.Context, func(error)) {
	k := &call{client: t.metrics.clients.of(c.Client)}
	ctx, k.span = t.tracer.Start(ctx, c.Operation, trace.WithAttributes(
		AttributeOperation.String(c.Operation),
		semconv.HTTPRequestMethodKey.String(c.Method),
		semconv.URLTemplate(c.Template),
		semconv.ServerAddress(k.client.server.address),
		semconv.ServerPort(k.client.server.port),
	))
	return context.WithValue(ctx, callKey{}, k), k.end
}

func (k *call) end(err error) {
	defer k.span.End()
	if !k.span.IsRecording() {
		return
	}
	if code := k.statusCode.Load(); code != 0 {
		k.span.SetAttributes(semconv.HTTPResponseStatusCode(int(code)))
	}
	if err != nil {
		k.span.SetStatus(codes.Error, "")
		k.span.SetAttributes(semconv.ErrorTypeKey.String(callErrorType(err)))
	}
}

// newlyWaited is how long the call has waited since the last time it was asked.
func (k *call) newlyWaited(c petstore.Call) time.Duration {
	return c.Waited - time.Duration(k.waited.Swap(int64(c.Waited)))
}

// callErrorType is the class of the error of a call: of all that it matches, what ended the call.
func callErrorType(err error) string {
	if class := contextErrorType(err); class != "" {
		return class
	}
	if answer, ok := errors.AsType[*petstore.APIError](err); ok {
		return strconv.Itoa(answer.StatusCode)
	}
	if errors.Is(err, petstore.ErrRateLimited) {
		return "rate_limited"
	}
	if errors.Is(err, petstore.ErrInvalidResponse) {
		return "invalid_response"
	}
	return errorType(err)
}
