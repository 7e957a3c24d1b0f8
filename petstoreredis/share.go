package petstoreredis

import (
	"math"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/petstore/petstore-go/internal/quota"
)

const (
	// unknownShare is the number of processes among which a key is divided without WithShare, if
	// Redis has never replied: as many as the smallest plan has requests, and some more.
	unknownShare = 64
	// mostShare limits how far the guess grows.
	mostShare = 4096
	// patience is how long the first request of a window may be without a response before one more
	// follows. It is that of quota after a 429, since many processes may wait for the same service.
	patience = 10 * time.Second
	// smallestLimit is that of the smallest plan (section 8.1).
	smallestLimit = 60
)

// share is the part of each window that a process may send during a fallback. It follows the rules
// of quota.Budget, for a key whose Limit and Remaining are this process's part of those in the
// responses. So processes that do not see each other stay within the limit together. If there are
// more processes than requests, each draws at random whether it sends one.
type share struct {
	processes int  // among which the key is divided
	known     bool // processes is not a guess
	budget    quota.Budget

	limit  int       // of the key, 0 before a response showed it
	ends   time.Time // of the window
	part   int       // of the requests of the window
	own    int       // of those, with a response or lost
	opened bool      // a response has described the window
	last   time.Time // when the last request was admitted
	wake   time.Time // when to ask again, zero if a response decides
}

// newShare returns a share that begins with what Redis and the responses have shown. All requests in
// flight, of any process, count as spent.
func newShare(k *knowledge, processes int, known bool, inFlight int, now time.Time) *share {
	s := &share{processes: processes, known: known, budget: quota.Budget{Processes: 1}, limit: k.rateLimit.Limit}
	left := k.ends.Sub(now)
	if s.limit > 0 && left > 0 {
		rest := k.rateLimit.Remaining - inFlight
		if k.Epoch > 0 {
			rest = min(rest, k.Left-k.Outstanding)
		}
		s.ends, s.opened, s.part, s.own = k.ends, true, s.limit/processes, k.Taken
		o := quota.Observation{Sent: now, Received: now, StatusCode: http.StatusOK}
		o.RateLimit = s.partOf(quota.RateLimit{Limit: s.limit, Remaining: rest, Reset: k.rateLimit.Reset})
		o.Date = k.rateLimit.Reset.Add(-left).Truncate(time.Second) // so that the window ends at k.ends or later
		s.budget.Learn(&o, now)
	}
	if k.gate.After(now) {
		o := quota.Observation{
			Sent: now, Received: now, StatusCode: http.StatusTooManyRequests, RetryAfter: k.gate.Sub(now), Date: now,
		}
		if k.Scope == quota.Day {
			o.RateLimit = quota.RateLimit{Limit: 1, Reset: k.gate}
		}
		s.budget.Learn(&o, now)
	}
	return s
}

// admit reserves one request, or records when to ask again.
func (s *share) admit(now time.Time) (quota.Slot, bool) {
	if !now.Before(s.ends) && s.budget.Scope(now, now) == "" {
		s.open(now)
	}
	inFlight := s.budget.InFlight()
	switch {
	case s.part == 0 && now.Before(s.ends):
		s.wake = s.ends
		return quota.Slot{}, false
	case inFlight > 0 && (s.limit == 0 || !s.opened) && now.Before(s.last.Add(patience)):
		s.wake = s.last.Add(patience)
		return quota.Slot{}, false
	}
	slot, why, ok := s.budget.Admit(now, false)
	if s.wake = why.Wake; ok {
		s.last = now
	}
	return slot, ok
}

// open begins a window about which nothing is known. The first response shows when it ends.
func (s *share) open(now time.Time) {
	s.ends, s.opened, s.own = now.Add(windowLength), false, 0
	s.part = s.draw()
}

// draw returns the number of requests of a window that this process may send. If the key has fewer
// requests than processes, the number is drawn at random. The sum over all processes is then below
// the limit in 99 of 100 windows: 2.5 standard deviations.
func (s *share) draw() int {
	limit := float64(s.limit)
	switch {
	case s.limit == 0 && (s.processes <= smallestLimit || !s.known):
		return 1 // one request to learn of the limit
	case s.limit == 0:
		limit = smallestLimit
	case s.limit >= s.processes:
		return s.limit / s.processes
	}
	if rand.Float64() < (limit-2.5*math.Sqrt(limit))/float64(s.processes) {
		return 1
	}
	return 0
}

// partOf returns the process's part of the rate limit of a response.
func (s *share) partOf(r quota.RateLimit) quota.RateLimit {
	return quota.RateLimit{
		Limit:     max(1, r.Limit/s.processes),
		Remaining: max(0, min(r.Remaining/s.processes, s.part-s.own)),
		Reset:     r.Reset,
	}
}

// record records the outcome of a request. p is its permit, which the share or Redis gave; nil stands
// for one of Redis.
func (s *share) record(p *permit, o *quota.Observation, now time.Time) {
	own := p != nil && p.share == s
	if own && !o.Sent.IsZero() && o.StatusCode != http.StatusTooManyRequests {
		s.own++
	}
	translated := s.translate(o)
	if own {
		s.budget.Settle(p.own, &translated, now)
	} else {
		s.budget.Learn(&translated, now)
	}
	if end := s.budget.End(); o.RateLimit.Limit > 0 && end.After(now) {
		s.ends = end
	}
	s.opened = s.opened || o.StatusCode != 0 && o.StatusCode != http.StatusTooManyRequests
}

// translate returns an outcome with the process's part instead of the key's rate limit.
func (s *share) translate(o *quota.Observation) quota.Observation {
	own := *o
	if o.StatusCode == http.StatusTooManyRequests && !s.known {
		s.processes = min(2*s.processes, mostShare) // there are more than was guessed
	}
	if r := o.RateLimit; r.Limit > 0 {
		if !s.known && !s.opened {
			s.processes = max(s.processes, 2*(r.Limit-r.Remaining)) // those that began before
		}
		if r.Limit != s.limit {
			s.limit = r.Limit
			s.part = max(s.own, s.draw())
		}
		own.RateLimit = s.partOf(r)
	}
	return own
}

// earliest implements rules.
func (s *share) earliest(now time.Time, before int) time.Time {
	at := s.budget.Earliest(now, before, false)
	if s.part == 0 && at.Before(s.ends) {
		return s.ends.Add(time.Duration(before) * windowLength)
	}
	return at
}

// scope implements rules.
func (s *share) scope(now, at time.Time) quota.Scope {
	scope := s.budget.Scope(now, at)
	if scope == "" && at.After(now) {
		return quota.Minute
	}
	return scope
}

// reopen has one request ask the service if the key is closed.
func (s *share) reopen(now time.Time) {
	if s.budget.Reopen(now) {
		s.open(now)
		s.part = max(1, s.part)
	}
}
