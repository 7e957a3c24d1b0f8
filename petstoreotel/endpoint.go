package petstoreotel

import (
	"net/url"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/petstore/petstore-go"
)

// AttributeOperation is the key of the attribute with the operationId of the service document: listPets, createPet
// or getPet.
const AttributeOperation = attribute.Key("petstore.operation")

type endpointKey struct{ baseURL, operation string }

// endpoint is an operation at a service: what is the same for all of its calls.
type endpoint struct {
	server server
	start  []trace.SpanStartOption // of the span of a call
	served metric.MeasurementOption
	called metric.MeasurementOption // of a call that was a success
}

func newEndpoint(c petstore.Call) *endpoint {
	at := &url.URL{}
	if u, err := url.Parse(c.BaseURL); err == nil {
		at = u
	}
	s := serverOf(at)
	operation := AttributeOperation.String(c.Operation)
	return &endpoint{
		server: s,
		start: []trace.SpanStartOption{trace.WithAttributes(append(s.attributes(),
			operation, semconv.HTTPRequestMethodKey.String(c.Method), semconv.URLTemplate(c.Template))...)},
		served: metric.WithAttributeSet(attribute.NewSet(s.attributes()...)),
		called: metric.WithAttributeSet(attribute.NewSet(append(s.attributes(), operation)...)),
	}
}
