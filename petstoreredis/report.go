package petstoreredis

import (
	"net/http"
	"time"

	"github.com/petstore/petstore-go"
)

const (
	minute = time.Minute
	// grain is by how much Reset may be rounded down, and slack how much longer a minute may seem.
	grain, slack = time.Second, 10 * time.Second
	// longest is the longest window, of a day. A Reset further away is a mistake.
	longest = 25 * time.Hour
	// longestRetry is the longest Retry-After that is believed.
	longestRetry = 366 * 24 * time.Hour
)

// report is the outcomes of requests that Redis has not been told of. pot.lua describes the counts.
type report struct {
	Of   int64 `json:"of"` // window of the permits
	Done int   `json:"done"`
	Bare int   `json:"bare"`
	Lost int   `json:"lost"`
	Gone int   `json:"gone"`
	Back int   `json:"back"`

	Limit     int                 `json:"limit"`
	Remaining int                 `json:"remaining"` // the least
	Reset     int64               `json:"reset"`
	Scope     petstore.LimitScope `json:"scope"`
	Rejected  bool                `json:"rejected"`

	sent  time.Time // the request of these
	ends  time.Time // of the window, by the local clock; zero if Reset is not usable
	opens time.Time // earliest next request after a 429; zero if the response does not say
}

// pending reports whether there is something to tell.
func (r *report) pending() bool {
	return r.Done+r.Bare+r.Lost+r.Gone+r.Back > 0 || r.Rejected || r.Limit > 0
}

// add adds the outcome of a request; window is 0 if it was sent without Redis. Counts of older pots
// than the report's are of no use, nor is what responses said then.
func (r *report) add(window int64, o *petstore.Observation, c *clock) {
	if window > r.Of {
		if r.Of != 0 {
			*r = report{}
		}
		r.Of, r.Done, r.Bare, r.Lost, r.Gone, r.Back = window, 0, 0, 0, 0, 0
	}
	answered := o.Delivery == petstore.DeliveryAnswered
	if window == r.Of {
		switch {
		case o.Delivery == petstore.DeliveryNotTried, o.Delivery == petstore.DeliveryNotSent:
			r.Back++
		case answered && (o.RateLimit.Limit > 0 || o.StatusCode == http.StatusTooManyRequests):
			r.Done++
		case answered:
			r.Bare++
		case o.Abandoned:
			r.Gone++
		default:
			r.Lost++
		}
	}
	switch {
	case answered && o.StatusCode == http.StatusTooManyRequests:
		r.reject(o, c)
	case answered && o.RateLimit.Limit > 0 && !r.Rejected && (window == r.Of || window == 0):
		r.describe(o, c)
	}
}

// describe keeps the response that says most: of the latest window, with the least Remaining.
func (r *report) describe(o *petstore.Observation, c *clock) {
	reset, limit := o.RateLimit.Reset.Unix(), o.RateLimit
	if r.Limit > 0 && (reset < r.Reset || reset == r.Reset && limit.Remaining > r.Remaining) {
		return
	}
	r.Limit, r.Remaining, r.Reset, r.sent = limit.Limit, limit.Remaining, max(reset, 1), o.Sent
	ends := c.end(o)
	if reset != r.Reset || r.ends.IsZero() || ends.Before(r.ends) {
		r.ends = ends
	}
	r.Scope = petstore.ScopeMinute
	if r.ends.Sub(o.Received) > minute+slack {
		r.Scope = petstore.ScopeDay
	}
}

// reject keeps the 429 that closes the key for longest.
func (r *report) reject(o *petstore.Observation, c *clock) {
	var opens, ends time.Time
	if o.RetryAfter > 0 {
		opens = o.Received.Add(min(o.RetryAfter, longestRetry))
	}
	if o.RateLimit.Limit > 0 {
		ends = c.end(o)
	}
	if (o.RateLimit.Remaining == 0 || opens.IsZero()) && ends.After(opens) {
		opens = ends
	}
	if r.Rejected && opens.Before(r.opens) {
		return
	}
	r.Rejected, r.opens, r.sent, r.Scope = true, opens, o.Sent, petstore.ScopeMinute
	switch {
	case ends.IsZero() && opens.Sub(o.Received) > minute+slack, !ends.IsZero() && opens.Sub(ends) > 2*time.Second:
		r.Scope = petstore.ScopeBan
	case opens.Sub(o.Received) > minute+2*time.Second:
		r.Scope = petstore.ScopeDay
	}
}

// clock is by how much the clock of the service is ahead of the local one at least, as the Dates of
// the responses say. A response that contradicts the others begins anew.
type clock struct {
	known bool
	least time.Duration
}

func (c *clock) see(o *petstore.Observation) {
	if o.Date.IsZero() || o.Delivery != petstore.DeliveryAnswered {
		return
	}
	least, most := o.Date.Sub(o.Received), o.Date.Add(time.Second).Sub(o.Sent)
	if c.known && c.least <= most {
		least = max(least, c.least)
	}
	*c = clock{known: true, least: least}
}

// end returns the local time at which the window of a response is certainly over; zero if Reset is
// not usable. A window of a minute that was open when the response came is over a minute later.
func (c *clock) end(o *petstore.Observation) time.Time {
	left := o.RateLimit.Reset.Sub(o.Received) - c.least
	if left > longest || left <= -grain || !c.known && left > minute+slack && left < time.Hour {
		return time.Time{}
	}
	left += grain
	if left > minute && left <= minute+slack {
		left = minute
	}
	return o.Received.Add(left)
}
