package petstoreotel

import (
	"fmt"
	"reflect"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Option configures what [New] and [NewTransport] make. It is a value like [petstore.Option].
type Option interface {
	fmt.Stringer
	apply(*config)
}

// option is an option as a value: a provider is in it as it is if it can be compared, else as a
// pointer to it.
type option[T any] struct {
	name  string
	value any
	set   *func(*config, T) // a pointer, because functions cannot be compared
}

func newOption[T any](name string, v T, set *func(*config, T)) Option {
	if r := reflect.ValueOf(v); r.IsValid() && !r.Comparable() {
		return option[T]{name, &v, set}
	}
	return option[T]{name, v, set}
}

func (o option[T]) apply(c *config) {
	v, ok := o.value.(T)
	if p, held := o.value.(*T); !ok && held {
		v = *p
	}
	(*o.set)(c, v)
}

// String returns the option as it is written in Go, with the type of a provider.
func (o option[T]) String() string {
	if o.value == any(true) {
		return o.name + "()"
	}
	return fmt.Sprintf("%s(%T)", o.name, o.value)
}

var (
	setTracers     = func(c *config, p trace.TracerProvider) { c.tracers = p }
	setMeters      = func(c *config, p metric.MeterProvider) { c.meters = p }
	setPropagators = func(c *config, p propagation.TextMapPropagator) { c.propagators = p }
	setCallsOnly   = func(c *config, only bool) { c.callsOnly = only }
)

type config struct {
	tracers     trace.TracerProvider
	meters      metric.MeterProvider
	propagators propagation.TextMapPropagator
	callsOnly   bool
}

// WithTracerProvider sets the provider of the tracer. The default, also for nil, is the global
// provider.
func WithTracerProvider(p trace.TracerProvider) Option {
	return newOption("WithTracerProvider", p, &setTracers)
}

// WithMeterProvider sets the provider of the meter. The default, also for nil, is the global
// provider.
func WithMeterProvider(p metric.MeterProvider) Option {
	return newOption("WithMeterProvider", p, &setMeters)
}

// WithPropagators sets the propagator that writes the context of a request's span into the
// request's header. The default, also for nil, is the global one. An empty
// propagation.NewCompositeTextMapPropagator sends nothing.
func WithPropagators(p propagation.TextMapPropagator) Option {
	return newOption("WithPropagators", p, &setPropagators)
}

// WithCallsOnly has [New] leave the requests to another instrumentation, such as otelhttp: there
// are no spans of requests and no http.client.request.duration, and no header changes. Calls and
// waits are recorded as usual. WithCallsOnly has no effect on [NewTransport].
func WithCallsOnly() Option { return newOption("WithCallsOnly", true, &setCallsOnly) }

func newConfig(opts []Option) config {
	var c config
	for _, opt := range opts {
		if opt != nil {
			opt.apply(&c)
		}
	}
	if c.tracers == nil {
		c.tracers = otel.GetTracerProvider()
	}
	if c.meters == nil {
		c.meters = otel.GetMeterProvider()
	}
	if c.propagators == nil {
		c.propagators = otel.GetTextMapPropagator()
	}
	return c
}
