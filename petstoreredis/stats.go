package petstoreredis

import (
	"time"

	"github.com/petstore/petstore-go"
)

// Stats is what a [Limiter] has done so far and holds now. The counts begin with the Limiter.
type Stats struct {
	// Name is the beginning of the hash in the names of the keys in Redis, as the log has it.
	Name string
	// RateLimit is the most recent rate limit known.
	RateLimit petstore.RateLimit
	// Away reports whether the process goes on without Redis.
	Away bool
	// Fallbacks is how often it has begun to, and AwayFor for how long in all.
	Fallbacks int
	AwayFor   time.Duration
	// RoundTrips is the number of commands sent to Redis.
	RoundTrips int
	// Repairs is how often this process found a state in Redis that could not be read, and began it
	// afresh.
	Repairs int
	// Waiting is the number of calls in the queue of this process.
	Waiting int
	// InFlight is the number of permits in use, and Held of those that no call has asked for yet.
	InFlight, Held int
	// Processes is the number of processes that Redis knew of last, 0 if it has never answered.
	Processes int
}

// Stats returns what the limiter has done so far and holds now. It asks nobody, and is safe for
// concurrent use.
func (l *Limiter) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := &l.fallback
	s := Stats{
		Name: l.label, RateLimit: l.known.rateLimit,
		Away: a.share != nil, Fallbacks: a.count, AwayFor: a.total, Repairs: a.repairs,
		RoundTrips: l.seq, Waiting: l.queue.len(), InFlight: l.inFlight, Held: len(l.unused),
		Processes: l.known.processes,
	}
	if s.Away {
		s.AwayFor += time.Since(a.since)
	}
	return s
}
