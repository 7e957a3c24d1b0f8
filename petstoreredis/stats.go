package petstoreredis

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/petstore/petstore-go"
)

// Stats is the state of a [Limiter], with what it has done since NewLimiter.
type Stats struct {
	// Name is the beginning of the hash in the name of the key in Redis, as in the log.
	Name string
	// RateLimit is the most recent rate limit known.
	RateLimit petstore.RateLimit
	// Away reports whether the process goes on without Redis.
	Away bool
	// Fallbacks is the number of times that this began, and AwayFor how long it lasted in total.
	Fallbacks int
	AwayFor   time.Duration
	// RoundTrips is the number of commands sent to Redis.
	RoundTrips int
	// Waiting is the number of calls of this process that wait.
	Waiting int
	// InFlight is the number of permits in use, and Held the number of unused ones.
	InFlight, Held int
	// Processes is the number of processes by the last reply of Redis; 0 without one.
	Processes int
}

// Stats returns the state of the limiter. It does no I/O and is safe for concurrent use.
func (l *Limiter) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.stats
	s.RateLimit, s.Waiting, s.Held, s.Processes = l.shown, len(l.calls), l.held, l.pot.Processes
	if o := l.outage; o != nil {
		s.AwayFor += time.Since(o.since)
		s.Waiting += o.waiting
	}
	return s
}

// figure is one figure of Stats as a metric.
type figure struct {
	name, unit, text string
	value            func(Stats) float64
}

// measure has a meter read the figures whenever it collects.
func (l *Limiter) measure(provider metric.MeterProvider) error {
	away := func(s Stats) float64 { return map[bool]float64{true: 1}[s.Away] }
	var errs []error
	meter := provider.Meter("github.com/petstore/petstore-go/petstoreredis",
		metric.WithInstrumentationVersion(petstore.Version))
	for _, f := range []figure{
		{"away", "1", "1 while this process goes on without Redis.", away},
		{"held_permits", "{permit}", "Unused permits.", func(s Stats) float64 { return float64(s.Held) }},
		{"permits_in_use", "{permit}", "Permits in use.", func(s Stats) float64 { return float64(s.InFlight) }},
		{"waiting_calls", "{call}", "Calls that wait.", func(s Stats) float64 { return float64(s.Waiting) }},
		{"processes", "{process}", "Processes, as Redis knew last.", func(s Stats) float64 { return float64(s.Processes) }},
	} {
		_, err := meter.Float64ObservableGauge("petstore.redis."+f.name, metric.WithUnit(f.unit),
			metric.WithDescription(f.text), metric.WithFloat64Callback(l.read(f.value)))
		errs = append(errs, err)
	}
	for _, f := range []figure{
		{"fallbacks", "{fallback}", "Times that it began.", func(s Stats) float64 { return float64(s.Fallbacks) }},
		{"away_time", "s", "Time without Redis.", func(s Stats) float64 { return s.AwayFor.Seconds() }},
		{"round_trips", "{command}", "Commands sent to Redis.", func(s Stats) float64 { return float64(s.RoundTrips) }},
	} {
		_, err := meter.Float64ObservableCounter("petstore.redis."+f.name, metric.WithUnit(f.unit),
			metric.WithDescription(f.text), metric.WithFloat64Callback(l.read(f.value)))
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// read returns what observes one figure.
func (l *Limiter) read(value func(Stats) float64) metric.Float64Callback {
	return func(_ context.Context, o metric.Float64Observer) error {
		s := l.Stats()
		o.Observe(value(s), metric.WithAttributes(attribute.String("petstore.redis.name", s.Name)))
		return nil
	}
}
