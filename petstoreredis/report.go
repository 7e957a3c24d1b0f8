package petstoreredis

import (
	"net/http"
	"time"

	"github.com/petstore/petstore-go"
)

// slot is what is to be remembered of a request that was admitted.
type slot struct {
	Life     string `json:"life"`     // of the state in Redis
	Known    int    `json:"known"`    // answers that it knew
	Epoch    int    `json:"epoch"`    // windows so far
	Closures int    `json:"closures"` // so far
	Probe    bool   `json:"probe"`    // it goes ahead of the fleet
	Urgent   bool   `json:"urgent"`   // others wait for its answer
}

// report is what became of requests of which there is the same to say: their number is N. What it is of is told
// in script/window.lua. Times are milliseconds ago, or from Received on.
type report struct {
	slot
	N         int   `json:"n"`
	Late      bool  `json:"late"`     // sent when the window was over
	Unsent    bool  `json:"unsent"`   // a probe that never left
	Lost      bool  `json:"lost"`     // no answer came
	Rejected  bool  `json:"rejected"` // 429
	Limit     int   `json:"limit"`
	Remaining int   `json:"remaining"`
	Reset     int64 `json:"reset"`
	Dated     bool  `json:"dated"`
	Ahead     bool  `json:"ahead"`
	Sent      int64 `json:"sent"`
	Received  int64 `json:"received"`
	Took      int64 `json:"took"`
	ResetIn   int64 `json:"reset_in"`
	Retry     int64 `json:"retry"`

	sent, received, resetAt, retryAt time.Time
}

// newReport is what the limiter has to say of one request.
func newReport(s slot, late bool, o petstore.Observation, f offset) report {
	r := report{slot: s, N: 1, Late: late, sent: o.Sent, received: o.Received}
	switch {
	case o.Sent.IsZero():
		r.Unsent = true
	case o.Received.IsZero():
		r.Lost = true
	}
	if o.Received.IsZero() {
		return r
	}
	r.Rejected = o.StatusCode == http.StatusTooManyRequests
	r.Took = o.Received.Sub(o.Sent).Milliseconds()
	r.retryAt = o.Received.Add(o.RetryAfter)
	r.resetAt = o.Received
	if limit := o.RateLimit; limit.Limit > 0 {
		r.Limit, r.Remaining, r.Reset = limit.Limit, limit.Remaining, limit.Reset.Unix()
		r.resetAt = limit.Reset.Add(-f.lo)
		r.Dated, r.Ahead = f.known, limit.Reset.After(o.Date)
	}
	return r
}

// join adds another request's report if it says the same, so that a batch of answers is one line.
//
// The lowest Remaining with the highest Known is what both together come to: an answer to a request sent when
// that much was known supersedes as much alone.
func (r *report) join(o report) bool {
	a, b := *r, o
	if a.Unsent || a.Lost != b.Lost || a.Rejected != b.Rejected || a.Late != b.Late || a.Probe || b.Probe ||
		a.Life != b.Life || a.Epoch != b.Epoch || a.Closures != b.Closures ||
		a.Limit != b.Limit || a.Reset != b.Reset || a.Dated != b.Dated || a.Ahead != b.Ahead {
		return false
	}
	r.N += o.N
	r.Known = max(r.Known, o.Known)
	r.Remaining = min(r.Remaining, o.Remaining)
	r.Took = o.Took
	if o.sent.Before(r.sent) {
		r.sent = o.sent
	}
	r.received = later(r.received, o.received)
	r.resetAt = later(r.resetAt, o.resetAt)
	r.retryAt = later(r.retryAt, o.retryAt)
	return true
}

// at is the report as it is to be said now.
func (r *report) at(now time.Time) report {
	said := *r
	said.Sent = max(0, now.Sub(r.sent).Milliseconds())
	if r.received.IsZero() {
		return said
	}
	said.Received = max(0, now.Sub(r.received).Milliseconds())
	said.ResetIn = milliseconds(r.resetAt.Sub(r.received))
	said.Retry = milliseconds(r.retryAt.Sub(r.received))
	return said
}

// end is when the window of a response is over for certain, by the local clock. Reset is rounded down to the second.
func (r *report) end() time.Time {
	const hour, longest = time.Hour, 400 * 24 * time.Hour
	wait := r.resetAt.Sub(r.received) + time.Second
	// Without a Date, a clock that is minutes off is likelier than a window of minutes.
	minutes := !r.Dated && wait > windowLength+10*time.Second && wait < hour
	if wait <= time.Second && !r.Ahead || wait > longest || minutes {
		wait = windowLength
	}
	return r.received.Add(wait)
}

// milliseconds rounds up.
func milliseconds(d time.Duration) int64 {
	return (d + time.Millisecond - 1).Milliseconds()
}

// offset bounds how far the service's clock is ahead of the local one.
type offset struct {
	known  bool
	lo, hi time.Duration
	at     time.Time
}

// narrow takes in the Date of an answer, which was now, to the second, somewhere between Sent and Received.
// Clocks drift, and are set: what contradicts is forgotten.
func (f *offset) narrow(o petstore.Observation) {
	if o.Date.IsZero() || o.Received.IsZero() {
		return
	}
	lo, hi := o.Date.Sub(o.Received), o.Date.Add(time.Second).Sub(o.Sent)
	drift := max(0, o.Received.Sub(f.at)) / 10_000
	if f.known && f.lo-drift <= hi && lo <= f.hi+drift {
		lo, hi = max(lo, f.lo-drift), min(hi, f.hi+drift)
	}
	*f = offset{true, lo, hi, o.Received}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
