package petstoreredis

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/petstore/petstore-go"
)

const (
	// unknownShare is among how many processes a key is divided if nobody has said it and Redis has never answered.
	unknownShare = 64
	// mostShare bounds what the guess grows to.
	mostShare = 4096
	// patience is how long the response of the first request of a window is waited for before another one goes.
	patience = 10 * time.Second
	// smallestLimit is that of the smallest plan (section 8.1).
	smallestLimit = 60
	// slack is by how much the times that one response tells may differ.
	slack = 2 * time.Second
)

// solo is what a process may send while Redis is away: its part of each window. Processes that do not see each other
// so stay within the whole. Where there are more processes than requests, each draws whether it has one.
type solo struct {
	share int  // the key is divided among so many
	known bool // share is not a guess

	limit   int       // of the key, 0 before a response told it
	window  int       // windows so far
	begun   time.Time // of the window
	ends    time.Time // of the window, no earlier than in truth
	allowed int       // of it
	own     int       // sent, or about to be
	flying  int       // of those, not answered yet
	shown   bool      // a response of this window has come, or it was known from Redis
	last    time.Time // when the last one left
	day     bool

	gate     time.Time
	closure  petstore.LimitScope
	closedAt time.Time // when the last 429 came
	streak   int       // 429s in a row
}

// newSolo begins with what Redis and the responses have told. What is on its way anywhere counts as spent.
func newSolo(k *knowledge, share, inFlight int, now time.Time) *solo {
	s := &solo{share: share, limit: k.rateLimit.Limit, day: k.day}
	if k.gate.After(now) {
		s.gate, s.closure, s.closedAt, s.streak = k.gate, k.closure, now, 1
	}
	if s.limit == 0 || !now.Before(k.ends) {
		return s
	}
	rest := k.rateLimit.Remaining - inFlight
	if k.Epoch > 0 {
		rest = min(rest, k.left-k.outstanding)
	}
	s.begun, s.ends, s.shown = now, k.ends, true
	s.allowed = max(0, min(rest/s.share, s.limit/s.share-k.taken))
	return s
}

// admit reports whether a request may be sent now, and counts it.
func (s *solo) admit(now time.Time) bool {
	if now.Before(s.gate) {
		return false
	}
	if !now.Before(s.ends) {
		s.open(now)
	}
	if s.own >= s.allowed || !s.shown && s.flying > 0 && now.Before(s.last.Add(patience)) {
		return false
	}
	s.own++
	s.flying++
	s.last = now
	return true
}

// open begins a window of which nothing is known yet. The first response tells when it ends.
func (s *solo) open(now time.Time) {
	s.window++
	s.begun, s.ends, s.shown, s.day = now, now.Add(windowLength), false, false
	s.own, s.flying = 0, 0
	s.allowed = s.part()
}

// part is how many requests of a window are this process's. With fewer requests than processes it is drawn, so that
// the sum over all of them stays below the limit but for one time in a hundred.
func (s *solo) part() int {
	limit := float64(s.limit)
	switch {
	case s.limit == 0 && s.share <= smallestLimit || s.limit == 0 && !s.known:
		return 1 // one request to learn of the limit
	case s.limit == 0:
		limit = smallestLimit
	case s.limit >= s.share:
		return s.limit / s.share
	}
	switch {
	case rand.Float64() < (limit-2.5*math.Sqrt(limit))/float64(s.share):
		return 1
	}
	return 0
}

// next is when the next request may be sent, zero if only a response can tell.
func (s *solo) next(now time.Time) time.Time {
	switch {
	case now.Before(s.gate):
		return s.gate
	case !now.Before(s.ends):
		return now
	case s.own >= s.allowed:
		return s.ends
	case !s.shown && s.flying > 0:
		return s.last.Add(patience)
	}
	return now
}

// earliest is a time before which a request with that many ahead of it cannot go.
func (s *solo) earliest(now time.Time, ahead int) time.Time {
	at := later(now, s.gate)
	rest, part := s.allowed-s.own, max(1, s.limit/s.share)
	switch {
	case !at.Before(s.ends):
		return at.Add(time.Duration(ahead/part) * windowLength)
	case ahead < rest:
		return at
	}
	return s.ends.Add(time.Duration((ahead-max(0, rest))/part) * windowLength)
}

// settle takes in what became of a request, which was sent in the given window; 0 if it had its permit from Redis.
func (s *solo) settle(r report, window int) {
	if window == s.window && window > 0 {
		s.flying = max(0, s.flying-1)
		if r.Unsent {
			s.own--
		}
	}
	if r.Unsent || r.Lost {
		return
	}
	if r.Limit > 0 && !r.sent.Before(s.begun) {
		s.learn(r)
	}
	switch {
	case r.Rejected:
		s.close(r)
	case !r.sent.Before(s.closedAt):
		s.streak, s.shown = 0, s.shown || !r.sent.Before(s.begun)
		if s.limit == 0 {
			s.allowed = max(s.allowed, s.own-s.flying+1) // no headers: one at a time
		}
	}
}

// learn takes over what a response says of the window.
func (s *solo) learn(r report) {
	if r.Limit != s.limit {
		s.limit = r.Limit
		s.allowed = max(s.own, s.part())
	}
	if !s.known && !s.shown {
		s.share = max(s.share, 2*(r.Limit-r.Remaining)) // those who began before
	}
	s.ends = r.end()
	s.day = s.ends.Sub(r.received) > windowLength+slack
	s.allowed = min(s.allowed, s.own-s.flying+r.Remaining/s.share)
	s.shown = true
}

// close keeps away for as long as a 429 asks for, and longer after several in a row.
func (s *solo) close(r report) {
	if r.sent.Before(s.closedAt) {
		s.streak-- // on its way together with the last one
	}
	s.streak++
	s.closedAt = r.received
	at, ends := r.retryAt, r.received.Add(windowLength)
	if r.Limit > 0 {
		ends = r.end()
	}
	if !at.After(r.received) || r.Limit > 0 && r.Remaining == 0 {
		at = later(at, ends)
	}
	if s.streak > 1 {
		at = later(at, r.received.Add(min(time.Second<<min(s.streak-2, 6), windowLength)))
	}
	if !s.known {
		s.share = min(2*s.share, mostShare) // there are more processes than was guessed
	}
	if at.Before(s.gate) {
		return
	}
	s.gate, s.ends = at, at
	switch {
	case r.retryAt.Sub(ends) > slack:
		s.closure = petstore.ScopeBan
	case ends.Sub(r.received) > windowLength+slack:
		s.closure = petstore.ScopeDay
	default:
		s.closure = petstore.ScopeMinute
	}
}

// reopen has one request ask the service.
func (s *solo) reopen(now time.Time) {
	s.gate = time.Time{}
	s.open(now)
	s.allowed = max(1, s.allowed)
}

// scope tells what keeps a request from going before at.
func (s *solo) scope(now, at time.Time) petstore.LimitScope {
	switch {
	case now.Before(s.gate):
		return s.closure
	case !at.After(now):
		return ""
	case s.day:
		return petstore.ScopeDay
	}
	return petstore.ScopeMinute
}
