package ratelimit

import (
	"cmp"
	"net/http"
	"time"
)

// windowKind is how the modelled service counts.
type windowKind string

const (
	fixed   windowKind = "fixed"   // a window begins with its first request, on a whole second
	aligned windowKind = "aligned" // a window is a minute or a day of the wall clock
	sliding windowKind = "sliding" // a window is the last minute or day; Reset is when its oldest request leaves it
)

// counter counts the requests of one window of the modelled service.
type counter struct {
	kind   windowKind
	limit  int
	length time.Duration
	start  time.Time   // of a window that does not slide
	hits   []time.Time // its requests
}

// roll removes the requests that the window no longer counts at now.
func (q *counter) roll(now time.Time) {
	if q.kind == sliding {
		q.start = now // used only while there are no hits
		for len(q.hits) > 0 && !now.Before(q.hits[0].Add(q.length)) {
			q.hits = q.hits[1:]
		}
	} else if !now.Before(q.start.Add(q.length)) {
		q.start, q.hits = now.Truncate(time.Second), nil
		if q.kind == aligned {
			q.start = now.Truncate(q.length)
		}
	}
}

func (q *counter) left() int { return max(0, q.limit-len(q.hits)) }

// free returns the time at which a used-up window has room for the next request: its Reset.
func (q *counter) free() time.Time {
	if q.kind == sliding && len(q.hits) > 0 {
		return q.hits[0].Add(q.length)
	}
	return q.start.Add(q.length)
}

// service models a service. Its settings must be set before the first use; only perMinute is
// required.
type service struct {
	window    windowKind       // how it counts
	perMinute int              // the plan
	perDay    int              // 0 means no limit
	skew      time.Duration    // how far its clock is ahead
	alter     func(o *Outcome) // changes a response, so that it differs from the service document; may be nil
	banAfter  int              // so many 429s in a row cause no ban, the next one does; 0: no bans

	requests int // all
	rejected int // 429s
	bans     int // of the key

	minute, day counter
	streak      int       // 429s in a row
	banned      time.Time // end of the last ban
}

// answer returns the response to a request that arrives at a time, without Sent and Received.
func (s *service) answer(at time.Time) Outcome {
	now := at.Add(s.skew)
	s.roll(now)
	s.requests++
	o := Outcome{StatusCode: http.StatusOK, Date: now.Truncate(time.Second)}
	if s.tight().left() == 0 || now.Before(s.banned) {
		o.StatusCode = http.StatusTooManyRequests
		o.RetryAfter = max(time.Second, (s.reject(now).Sub(now) + time.Second - 1).Truncate(time.Second))
	} else {
		s.streak = 0
		s.minute.hits, s.day.hits = append(s.minute.hits, now), append(s.day.hits, now)
	}
	tight := s.tight()
	reset := tight.free().Add(time.Second - 1).Truncate(time.Second)
	o.Window = Window{Limit: tight.limit, Remaining: tight.left(), Reset: reset}
	if now.Before(s.banned) {
		o.Window.Remaining = 0
	}
	if s.alter != nil {
		s.alter(&o)
	}
	return o
}

// reject counts a 429, and returns the time from which the key may be used again.
func (s *service) reject(now time.Time) time.Time {
	s.rejected++
	if now.Before(s.banned) {
		return s.banned
	}
	s.streak++
	if s.banAfter > 0 && s.streak > s.banAfter {
		s.bans, s.streak, s.banned = s.bans+1, 0, now.Add(5*time.Minute)
		return s.banned
	}
	return s.tight().free()
}

func (s *service) roll(now time.Time) {
	if s.minute.kind == "" {
		s.minute = counter{kind: s.window, limit: s.perMinute, length: time.Minute}
		s.day = counter{kind: s.window, limit: cmp.Or(s.perDay, 1<<30), length: 24 * time.Hour}
	}
	s.minute.roll(now)
	s.day.roll(now)
}

// tight returns the window that has fewer requests left. The headers show this one.
func (s *service) tight() *counter {
	if s.day.left() < s.minute.left() {
		return &s.day
	}
	return &s.minute
}
