package petstoreredis

import (
	"time"

	"github.com/petstore/petstore-go"
)

// Stats is the state of a [Limiter], with what it has done since NewLimiter.
type Stats struct {
	// Name is the beginning of the hash in the names of the keys in Redis, as in the log.
	Name string
	// RateLimit is the most recent rate limit known.
	RateLimit petstore.RateLimit
	// Away reports whether there is a fallback: the process goes on without Redis.
	Away bool
	// Fallbacks is the number of fallbacks so far, and AwayFor their total time.
	Fallbacks int
	AwayFor   time.Duration
	// RoundTrips is the number of commands sent to Redis.
	RoundTrips int
	// Repairs is the number of times that this process replaced a state in Redis that could not be
	// read.
	Repairs int
	// Waiting is the number of calls in the queue of this process.
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
	s.RateLimit, s.RoundTrips, s.Processes = petstore.RateLimit(l.known.rateLimit), l.seq, l.known.Processes
	s.Waiting, s.InFlight, s.Held = l.calls.Len(), l.inFlight, len(l.unused)
	if s.Away {
		s.AwayFor += time.Since(l.fallback.since)
	}
	return s
}
