package petstore

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/petstore/petstore-go/internal/errtext"
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
// 8.2). If it is used up, Limit is positive and Remaining is 0. The zero RateLimit means that
// nothing is known, as when a header is missing or malformed.
type RateLimit struct {
	// Limit is the number of requests that the current window allows.
	Limit int
	// Remaining is the number of requests left in the current window.
	Remaining int
	// Reset is the end of the window by the service's clock, in whole seconds.
	Reset time.Time
}

// IsZero reports whether nothing is known about the quota.
func (r RateLimit) IsZero() bool { return r == RateLimit{} }

// LogValue returns limit, remaining and reset as a group; the group of the zero RateLimit is empty.
func (r RateLimit) LogValue() slog.Value {
	if r.IsZero() {
		return slog.GroupValue()
	}
	return slog.GroupValue(
		slog.Int("limit", r.Limit), slog.Int("remaining", r.Remaining), slog.Time("reset", r.Reset.UTC()))
}

// LimitScope is the limit that refused a request, or would have refused it (section 8). The service
// does not report it, so the client infers it. The zero LimitScope means that it is not known.
type LimitScope string

const (
	// ScopeBan follows a 429 whose Retry-After ends after the Reset of the same response, or after
	// more than a minute if there is no Reset. A shorter ban cannot be recognised.
	ScopeBan LimitScope = "ban"
	// ScopeDay is for a used-up window that was more than a minute from its Reset in its first
	// response.
	ScopeDay LimitScope = "day"
	// ScopeMinute is for all others.
	ScopeMinute LimitScope = "minute"
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
	// Sent is the time at which the request was passed to the transport, by the local clock.
	Sent time.Time
	// Received is the time at which the response's header arrived, by the local clock, or at which
	// it was known that nothing was sent; zero without either.
	Received time.Time
	// StatusCode is the status of the response; 0 without a response.
	StatusCode int
	// RateLimit is the rate limit from the response's headers; zero if one is missing or malformed.
	RateLimit RateLimit
	// RetryAfter is the time from Retry-After, counted from Received; 0 without a valid one.
	RetryAfter time.Duration
	// Date is the service's clock from the Date header, in whole seconds; zero without a valid one.
	Date time.Time
	// Abandoned reports whether the caller gave up before the response. The request then counts as
	// spent, but does not show whether the service responds.
	Abandoned bool
}

// RateLimitError reports a call that was given up because of the rate limit (section 8): the wait
// would exceed [WithMaxWait] or the context's deadline, the context ended during the wait, or the
// service answered the last attempt with 429. The service did not carry out the request.
type RateLimitError struct {
	// Operation is the name of the operation; empty in an error of a Limiter that was used without
	// a Client.
	Operation string
	// CallID is the call_id of the call's lines in the log.
	CallID string
	// RetryAt is the time from which a request may be sent again, by the local clock; zero if not
	// known.
	RetryAt time.Time
	// RateLimit is the last known rate limit of the key.
	RateLimit RateLimit
	// Scope is the limit that the call would have had to wait for; empty if not known.
	Scope LimitScope
	// Attempts is the number of requests that the call sent; 0 if it was refused before the first.
	Attempts int
	// Err is the *APIError of the 429, the error and cause of the context that ended the wait, or
	// both; nil if there is neither.
	Err error
}

// Error returns one line of at most 512 bytes.
func (e *RateLimitError) Error() string {
	text := errtext.Prefix(e.Operation) + "rate limited" +
		when(e.Scope != "", " ("+string(e.Scope)+")") +
		when(!e.RetryAt.IsZero(), " until "+e.RetryAt.UTC().Format(time.RFC3339)) +
		when(e.Attempts == 0, ", nothing was sent")
	if e.Err != nil {
		text += ": " + errtext.TrimPrefix(e.Err, e.Operation)
	}
	return errtext.Line(text)
}

// RetryAfterHeader returns RetryAt as the value of a Retry-After header for the caller's own
// clients: whole seconds from now, rounded up, at least 1; empty if RetryAt is not known.
func (e *RateLimitError) RetryAfterHeader() string {
	if e.RetryAt.IsZero() {
		return ""
	}
	seconds := math.Ceil(time.Until(e.RetryAt).Seconds())
	return strconv.FormatFloat(max(1, seconds), 'f', 0, 64)
}

// Is reports whether target is [ErrRateLimited], or [ErrNotSent] if the call sent nothing.
func (e *RateLimitError) Is(target error) bool {
	return target == ErrRateLimited || target == ErrNotSent && e.Attempts == 0
}

// Unwrap returns Err.
func (e *RateLimitError) Unwrap() error { return e.Err }

// RetryAfter returns how long to wait from now before the call may be tried again, for a 429, a 503
// and a refusal of the limiter alike; 0 if that time has passed. It returns false if err does not
// say, or matches [ErrOutcomeUnknown]: another try might repeat what was carried out.
func RetryAfter(err error) (time.Duration, bool) {
	if errors.Is(err, ErrOutcomeUnknown) {
		return 0, false
	}
	if e, ok := errors.AsType[*RateLimitError](err); ok && !e.RetryAt.IsZero() {
		return max(0, time.Until(e.RetryAt)), true
	}
	if e, ok := errors.AsType[*APIError](err); ok && e.RetryAfter > 0 {
		if e.received.IsZero() { // not by a client
			return e.RetryAfter, true
		}
		return max(0, time.Until(e.received.Add(e.RetryAfter))), true
	}
	return 0, false
}

// Limiter admits the requests of API keys. A [Client] calls Acquire before each attempt. An
// implementation must be safe for concurrent use; it is often enough to wrap that of [NewLimiter].
//
// A Limiter that closes a key after a 429 should have a method Reopen(keyID string), for
// [Client.ReopenLimit]: it admits the next request although the key is closed, does not block, and
// has no effect on an open key. A Limiter around another one should have a method Unwrap() Limiter
// that returns that one.
type Limiter interface {
	// Acquire blocks until one request may be sent. If that would take longer than r.MaxWait or
	// would exceed the deadline of ctx, which is that of the call, it returns a *RateLimitError
	// immediately. With an error it returns no Permit.
	Acquire(ctx context.Context, r LimitRequest) (Permit, error)
	// RateLimit returns the most recent rate limit known for a key, by its [Call].KeyID; the zero
	// RateLimit before the first response.
	RateLimit(keyID string) RateLimit
}

// LimitRequest describes the request for which a call asks a [Limiter]. The zero LimitRequest is
// that of a request outside a call, which cannot wait for limits.
type LimitRequest struct {
	// Call is the call, whose KeyID is that of the request's key.
	Call Call
	// MaxWait is the longest wait for limits, without that for the response of another request.
	MaxWait time.Duration
	// Asked is the time at which the call asked first, so that a retried call keeps its place in
	// the queue; zero stands for now.
	Asked time.Time

	call *call // nil outside a call
}

// StartWait reports to the client's log and its [ClientTrace] that the call begins to wait for the
// rate limit. A Limiter calls it in Acquire, and calls done once at the end of each wait. It must
// not hold a lock during these two calls, because they run functions of the user. free is the part
// of the wait for the response of another request, which [WithMaxWait] does not count. Outside a
// call, both have no effect.
func (r LimitRequest) StartWait(w Wait) (done func(free time.Duration)) {
	if r.call == nil {
		return func(time.Duration) {}
	}
	return r.call.startWait(w)
}

// Permit allows one request to be sent. The client calls Release exactly once for each Permit.
type Permit interface {
	// Release ends the permit and reports the outcome of the request. After the zero Observation,
	// the limiter behaves as if it had not given the permit.
	Release(Observation)
}
