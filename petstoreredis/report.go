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

// add adds the outcome of a request; window is 0 if it was sent without Redis. Counts of older pots
// than the report's are of no use, nor is what responses said then.
func (r *report) add(window int64, o *petstore.Observation) {
	if r.Of > 0 && window > r.Of {
		*r = report{}
	}
	r.Of = max(r.Of, window)
	described, rejected := o.RateLimit.Limit > 0, o.StatusCode == http.StatusTooManyRequests
	switch {
	case window == 0 || window < r.Of:
	case o.Delivery == petstore.DeliveryNotTried, o.Delivery == petstore.DeliveryNotSent:
		r.Back++
	case described, rejected:
		r.Done++
	case o.Delivery == petstore.DeliveryAnswered:
		r.Bare++
	case o.Abandoned:
		r.Gone++
	default:
		r.Lost++
	}
	switch {
	case rejected:
		r.reject(o)
	case described && !r.Rejected && (window == r.Of || window == 0):
		r.describe(o)
	}
}

// describe keeps the response that says most: of the latest window, with the least Remaining.
func (r *report) describe(o *petstore.Observation) {
	reset, limit := o.RateLimit.Reset.Unix(), o.RateLimit
	if r.Limit > 0 && (reset < r.Reset || reset == r.Reset && limit.Remaining > r.Remaining) {
		return
	}
	ends := windowEnd(o)
	if reset != r.Reset || r.ends.IsZero() || ends.Before(r.ends) {
		r.ends = ends
	}
	r.Limit, r.Remaining, r.Reset, r.sent = limit.Limit, limit.Remaining, max(reset, 1), o.Sent
	r.Scope = petstore.ScopeMinute
	if r.ends.Sub(o.Received) > minute+slack {
		r.Scope = petstore.ScopeDay
	}
}

// reject keeps the 429 that closes the key for longest.
func (r *report) reject(o *petstore.Observation) {
	var opens, ends time.Time
	if o.RetryAfter > 0 {
		opens = o.Received.Add(min(o.RetryAfter, longestRetry))
	}
	if o.RateLimit.Limit > 0 {
		ends = windowEnd(o)
	}
	if (o.RateLimit.Remaining == 0 || opens.IsZero()) && ends.After(opens) {
		opens = ends
	}
	if r.Rejected && opens.Before(r.opens) {
		return
	}
	if ends.IsZero() {
		ends = o.Received.Add(minute)
	}
	const rounded = 2 * time.Second // Retry-After and Reset both are
	r.Rejected, r.opens, r.sent, r.Scope = true, opens, o.Sent, petstore.ScopeMinute
	switch {
	case opens.Sub(ends) > rounded:
		r.Scope = petstore.ScopeBan
	case opens.Sub(o.Received) > minute+rounded:
		r.Scope = petstore.ScopeDay
	}
}

// windowEnd returns the local time at which the window of a response is certainly over; zero if
// Reset is not usable. Date is the time of the service, rounded down. A window of a minute that was
// open when the response came is over a minute later.
func windowEnd(o *petstore.Observation) time.Time {
	now := o.Date
	if now.IsZero() {
		now = o.Received
	}
	left := o.RateLimit.Reset.Sub(now) + grain
	switch {
	case left <= 0, left > longest, o.Date.IsZero() && left > minute+slack && left < time.Hour:
		return time.Time{}
	case left > minute && left <= minute+slack:
		left = minute
	}
	return o.Received.Add(left)
}
