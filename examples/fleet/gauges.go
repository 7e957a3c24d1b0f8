package main

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/petstore/petstore-go/petstoreredis"
)

// figure is one figure of petstoreredis.Stats as a metric.
type figure struct {
	name, unit, text string
	counter          bool // it only grows; else it is a gauge
	value            func(petstoreredis.Stats) float64
}

func figures() []figure {
	type stats = petstoreredis.Stats
	return []figure{
		{
			"petstore.redis.fallbacks", "{fallback}", "Times that this process began to go on without Redis.", true,
			func(s stats) float64 { return float64(s.Fallbacks) },
		},
		{
			"petstore.redis.away_time", "s", "Time that this process has gone on without Redis.", true,
			func(s stats) float64 { return s.AwayFor.Seconds() },
		},
		{
			"petstore.redis.round_trips", "{command}", "Commands that this process sent to Redis.", true,
			func(s stats) float64 { return float64(s.RoundTrips) },
		},
		{
			"petstore.redis.repairs", "{repair}", "Unreadable states in Redis that this process began afresh.", true,
			func(s stats) float64 { return float64(s.Repairs) },
		},
		{
			"petstore.redis.held_permits", "{permit}", "Permits of this process that no call has asked for yet.", false,
			func(s stats) float64 { return float64(s.Held) },
		},
		{
			"petstore.redis.permits_in_use", "{permit}", "Permits of this process in use.", false,
			func(s stats) float64 { return float64(s.InFlight) },
		},
		{
			"petstore.redis.waiting_calls", "{call}", "Calls in the queue of this process.", false,
			func(s stats) float64 { return float64(s.Waiting) },
		},
		{
			"petstore.redis.processes", "{process}", "Processes that share the key, as Redis knew last.", false,
			func(s stats) float64 { return float64(s.Processes) },
		},
	}
}

// watchLimiter has a meter read the figures of a limiter whenever it collects. A program can take
// it as it is.
func watchLimiter(meter metric.Meter, limiter *petstoreredis.Limiter) error {
	for _, f := range figures() {
		unit, text := metric.WithUnit(f.unit), metric.WithDescription(f.text)
		read := metric.WithFloat64Callback(func(_ context.Context, o metric.Float64Observer) error {
			s := limiter.Stats()
			o.Observe(f.value(s), metric.WithAttributes(attribute.String("petstore.redis.name", s.Name)))
			return nil
		})
		var err error
		if f.counter {
			_, err = meter.Float64ObservableCounter(f.name, unit, text, read)
		} else {
			_, err = meter.Float64ObservableGauge(f.name, unit, text, read)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
