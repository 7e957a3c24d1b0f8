package ratelimit

import (
	"log/slog"
	"net/http"
	"time"
)

// Window is the window of a rate limit according to the X-RateLimit headers of one response. If it
// is used up, Limit is positive and Remaining is 0. The zero Window means that nothing is known, as
// when a header is missing or malformed.
type Window struct {
	// Limit is the number of requests that the window allows.
	Limit int
	// Remaining is the number of requests left in it.
	Remaining int
	// Reset is its end by the server's clock, in whole seconds.
	Reset time.Time
}

// IsZero reports whether nothing is known about the window.
func (w Window) IsZero() bool { return w == Window{} }

// LogValue returns limit, remaining and reset as a group; the group of the zero Window is empty.
func (w Window) LogValue() slog.Value {
	if w.IsZero() {
		return slog.GroupValue()
	}
	return slog.GroupValue(
		slog.Int("limit", w.Limit), slog.Int("remaining", w.Remaining),
		slog.Time("reset", w.Reset.UTC()))
}

// Outcome is what came of a request that a [Permit] allowed. Most callers should use [OutcomeOf]
// for a response. Without a response, a Sent that is set says that the server may have counted the
// request. The zero Outcome means that nothing was sent: the limiter then behaves as if it had not
// given the permit.
type Outcome struct {
	// Sent is when the request was passed to the transport, by the local clock; zero if nothing was
	// sent, as after a refused connection.
	Sent time.Time
	// Received is when the header of the response arrived, by the local clock; zero without a
	// response. The request may then have been counted.
	Received time.Time
	// StatusCode is the status of the response; 0 without a response.
	StatusCode int
	// Window is the window from the headers; zero if one is missing or malformed.
	Window Window
	// RetryAfter is the time from Retry-After, counted from Received; 0 without a valid one.
	RetryAfter time.Duration
	// Date is the server's clock from the Date header, in whole seconds; zero without a valid one.
	Date time.Time
	// Abandoned reports whether the caller gave up before the response. The request may have been
	// counted, but does not show whether the server responds.
	Abandoned bool
}

// OutcomeOf returns the outcome of a request with a response, by its status and headers. sent and
// received are the times of [Outcome.Sent] and [Outcome.Received].
func OutcomeOf(resp *http.Response, sent, received time.Time) Outcome {
	date := parseDateHeader(resp.Header)
	return Outcome{
		Sent: sent, Received: received, StatusCode: resp.StatusCode, Window: parseWindow(resp.Header),
		RetryAfter: parseRetryAfter(resp.Header, date, received), Date: date,
	}
}
