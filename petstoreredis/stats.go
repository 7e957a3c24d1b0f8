package petstoreredis

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/petstore/petstore-go"
)

// Stats is the state of a [Limiter], with what it has done since NewLimiter.
type Stats struct {
	// Away reports whether the process goes on without Redis.
	Away bool
	// Fallbacks is how many times the process began to go on without Redis, and AwayFor is how long it
	// did so in total.
	Fallbacks int
	AwayFor   time.Duration
	// RoundTrips is the number of commands sent to Redis.
	RoundTrips int
	// Processes is the number of processes that share a key, by the last reply of Redis.
	Processes int
}

func (p *pot) stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.counts
	s.RoundTrips, s.Processes = int(p.roundTrips.Load()), p.processes
	if !p.away.IsZero() {
		s.Away = true
		s.AwayFor += time.Since(p.away)
	}
	return s
}

// measure makes a meter read the figures whenever it collects.
func (p *pot) measure(provider metric.MeterProvider) error {
	meter := provider.Meter("github.com/petstore/petstore-go/petstoreredis", metric.WithInstrumentationVersion(petstore.Version))
	away, err1 := meter.Int64ObservableGauge("petstore.redis.away", metric.WithUnit("1"),
		metric.WithDescription("1 while this process goes on without Redis."))
	processes, err2 := meter.Int64ObservableGauge("petstore.redis.processes", metric.WithUnit("{process}"),
		metric.WithDescription("Processes that share a key, as Redis knew last."))
	trips, err3 := meter.Int64ObservableCounter("petstore.redis.round_trips", metric.WithUnit("{command}"),
		metric.WithDescription("Commands sent to Redis."))
	_, err4 := meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		s := p.stats()
		o.ObserveInt64(away, map[bool]int64{true: 1}[s.Away])
		o.ObserveInt64(processes, int64(s.Processes))
		o.ObserveInt64(trips, int64(s.RoundTrips))
		return nil
	}, away, processes, trips)
	return errors.Join(err1, err2, err3, err4)
}
