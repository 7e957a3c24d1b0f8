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
		s.Away = true
		s.AwayFor += time.Since(o.since)
		s.Waiting += o.waiting
	}
	return s
}

// measure has a meter read the figures whenever it collects.
func (l *Limiter) measure(provider metric.MeterProvider) error {
	const prefix = "petstore.redis."
	name := metric.WithAttributes(attribute.String(prefix+"name", l.stats.Name))
	read := func(value func(Stats) int) metric.Int64Callback {
		return func(_ context.Context, o metric.Int64Observer) error {
			o.Observe(int64(value(l.Stats())), name)
			return nil
		}
	}
	meter := provider.Meter("github.com/petstore/petstore-go/petstoreredis",
		metric.WithInstrumentationVersion(petstore.Version))
	_, err := meter.Int64ObservableCounter(prefix+"round_trips", metric.WithUnit("{command}"),
		metric.WithDescription("Commands sent to Redis."),
		metric.WithInt64Callback(read(func(s Stats) int { return s.RoundTrips })))
	for _, gauge := range []struct {
		name, unit, text string
		value            func(Stats) int
	}{
		{"away", "1", "1 while this process goes on without Redis.", func(s Stats) int { return map[bool]int{true: 1}[s.Away] }},
		{"held_permits", "{permit}", "Unused permits.", func(s Stats) int { return s.Held }},
		{"permits_in_use", "{permit}", "Permits in use.", func(s Stats) int { return s.InFlight }},
		{"waiting_calls", "{call}", "Calls that wait.", func(s Stats) int { return s.Waiting }},
		{"processes", "{process}", "Processes, as Redis knew last.", func(s Stats) int { return s.Processes }},
	} {
		_, failed := meter.Int64ObservableGauge(prefix+gauge.name, metric.WithUnit(gauge.unit),
			metric.WithDescription(gauge.text), metric.WithInt64Callback(read(gauge.value)))
		err = errors.Join(err, failed)
	}
	return err
}
