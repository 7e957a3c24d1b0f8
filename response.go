package petstore

import (
	"log/slog"
	"net/http"
	"strconv"
	"time"
)

// Response describes the last HTTP exchange of the call that returned a result or an [APIError].
type Response struct {
	// StatusCode is the HTTP status code.
	StatusCode int
	// Header is the response's header.
	Header http.Header
	// RateLimit is the rate limit from the X-RateLimit headers (section 8.2).
	RateLimit RateLimit
	// Attempts is the number of requests that the call sent, in part or completely.
	Attempts int
}

// RateLimit is the caller's quota according to the X-RateLimit headers of one response (section
// 8.2).
//
// The zero RateLimit means that nothing is known about the quota, because a header was missing or
// malformed. If the quota is used up, Limit is positive and Remaining is 0.
type RateLimit struct {
	// Limit is the number of requests that the current window allows.
	Limit int
	// Remaining is the number of requests left in the current window.
	Remaining int
	// Reset is the end of the window by the service's clock, in whole seconds.
	Reset time.Time
}

// IsZero reports whether nothing is known, because a header was missing or malformed.
func (r RateLimit) IsZero() bool { return r == RateLimit{} }

// LogValue returns limit, remaining and reset as a group; the group of the zero RateLimit is empty.
func (r RateLimit) LogValue() slog.Value {
	if r.IsZero() {
		return slog.GroupValue()
	}
	return slog.GroupValue(
		slog.Int("limit", r.Limit), slog.Int("remaining", r.Remaining), slog.Time("reset", r.Reset.UTC()))
}

// String returns the rate limit as text, such as "59 of 60 left until 2026-11-21T12:01:30Z";
// "unknown" for the zero RateLimit.
func (r RateLimit) String() string {
	if r.IsZero() {
		return "unknown"
	}
	left := strconv.Itoa(r.Remaining) + " of " + strconv.Itoa(r.Limit)
	return left + " left until " + r.Reset.UTC().Format(time.RFC3339)
}

// LimitScope is the limit that refused a request, or would have refused it: that of the minute,
// that of the day, or a ban (section 8). The service does not report it, so the client infers it:
//
//   - ScopeBan after a 429 whose Retry-After ends after the Reset of the same response, or after
//     more than a minute if there is no Reset. A ban that ends before the window cannot be
//     recognised.
//   - ScopeDay for a used-up window that was more than a minute from its Reset in its first
//     response.
//   - ScopeMinute for all others.
//
// The zero LimitScope means that the limit is not known.
type LimitScope string

// The limits of section 8.
const (
	ScopeMinute LimitScope = "minute"
	ScopeDay    LimitScope = "day"
	ScopeBan    LimitScope = "ban"
)

// Delivery is how far a request came that a [Permit] allowed.
type Delivery string

// The deliveries. A request that was sent counts as spent, with or without a response.
const (
	DeliveryNotTried   Delivery = ""            // the permit was not used
	DeliveryNotSent    Delivery = "not_sent"    // nothing was written, as after a refused connection
	DeliveryNoResponse Delivery = "no_response" // it may have been written, but no response came
	DeliveryAnswered   Delivery = "answered"    // the header of a response came
)

// Observation is the outcome of a request that a [Permit] allowed. The zero Observation means that
// the permit was not used.
type Observation struct {
	// Delivery is how far the request came.
	Delivery Delivery
	// Sent is the time at which the request was passed to the transport, by the local clock; zero
	// if the permit was not used.
	Sent time.Time
	// Received is the time at which the response's header arrived, by the local clock, or at which
	// it was known that nothing was sent; zero without either.
	Received time.Time
	// StatusCode is the status of the response; 0 without a response.
	StatusCode int
	// RateLimit is the rate limit from the response's headers; zero if one is missing or malformed.
	RateLimit RateLimit
	// RetryAfter is the time from the Retry-After header, counted from Received; 0 without a valid
	// one.
	RetryAfter time.Duration
	// Date is the service's clock from the Date header, in whole seconds; zero without a valid one.
	Date time.Time
	// Abandoned reports whether the caller gave up before the response. The request then counts as
	// spent, but does not show whether the service responds.
	Abandoned bool
	// NotDone reports whether the service certainly did not carry out the request: it was not sent,
	// or refused, as with a 429.
	NotDone bool
}
