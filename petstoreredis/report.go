package petstoreredis

import (
	"net/http"
	"time"

	"github.com/petstore/petstore-go/internal/quota"
)

// slot is the state of the shared budget when the script admitted a request, as quota.Slot is. The
// process returns it with the outcome.
type slot struct {
	Instance  string  `json:"instance"` // identifies the state
	Responses int     `json:"known"`    // number of responses so far
	Epoch     int     `json:"epoch"`    // number of windows so far
	Closures  int     `json:"closures"` // number of closures so far
	Step      int     `json:"step"`     // the eighth of a second in which the request was admitted
	Base      int     `json:"base"`     // left, plus all requests admitted so far, minus those in flight
	Heard     float64 `json:"heard"`    // when the last response came, in milliseconds of the clock of Redis
	Probe     bool    `json:"probe"`    // the request is a probe
	Urgent    bool    `json:"urgent"`   // other processes wait for its response
}

// report is the outcome of N requests that are the same to the script. script/window.lua describes
// the fields. Sent and Received are milliseconds ago; ResetIn and Retry are milliseconds from
// Received on.
type report struct {
	slot

	N         int     `json:"n"`
	Over      bool    `json:"over"`      // the window was over when the request was sent
	Unsent    bool    `json:"unsent"`    // nothing was sent
	Lost      bool    `json:"lost"`      // there was no response
	Abandoned bool    `json:"abandoned"` // lost: the caller gave up; unsent: it was not tried
	Rejected  bool    `json:"rejected"`  // the response was a 429
	Limit     int     `json:"limit"`
	Remaining int     `json:"remaining"`
	Reset     int64   `json:"reset"`
	Dated     bool    `json:"dated"`
	Future    bool    `json:"future"`
	Sent      int64   `json:"sent"`
	Received  int64   `json:"received"`
	Took      int64   `json:"took"`
	ResetIn   float64 `json:"reset_in"`
	Retry     int64   `json:"retry"`

	sent, received, resetAt, retryAt time.Time
}

// newReport returns the outcome of one request.
func newReport(s slot, over bool, o *quota.Observation, f quota.Offset) report {
	r := report{slot: s, N: 1, Over: over, Abandoned: o.Abandoned, sent: o.Sent, received: o.Received}
	switch {
	case o.Sent.IsZero():
		r.Unsent, r.Abandoned = true, o.Received.IsZero()
		return r
	case o.Received.IsZero():
		r.Lost = true
		return r
	}
	r.Rejected = o.StatusCode == http.StatusTooManyRequests
	r.Took = o.Received.Sub(o.Sent).Milliseconds()
	r.retryAt = o.Received.Add(o.RetryAfter)
	r.resetAt = o.Received
	r.Dated = f.Known
	if limit := o.RateLimit; limit.Limit > 0 {
		r.Limit, r.Remaining, r.Reset = limit.Limit, limit.Remaining, limit.Reset.Unix()
		r.resetAt = limit.Reset.Add(-f.Lo)
		r.Future = limit.Reset.After(o.Date)
	}
	return r
}

// join adds the outcome of another request to r if both are of the same kind, and reports whether
// they are. So many responses become one report.
//
// The report then has the lowest Remaining and the highest number of known responses: a response
// replaces everything that was known when its request was sent.
func (r *report) join(o report) bool {
	if r.Probe || o.Probe || r.kind() != o.kind() {
		return false
	}
	r.N += o.N
	r.Responses = max(r.Responses, o.Responses)
	if o.Remaining < r.Remaining {
		r.Remaining, r.Base, r.Heard = o.Remaining, o.Base, o.Heard
	}
	r.Took = o.Took
	if o.sent.Before(r.sent) {
		r.sent = o.sent
	}
	r.received = quota.Later(r.received, o.received)
	r.resetAt = quota.Later(r.resetAt, o.resetAt)
	r.retryAt = quota.Later(r.retryAt, o.retryAt)
	return true
}

// kind returns r without the fields that may differ between reports that are joined.
func (r *report) kind() report {
	return report{
		slot: slot{Instance: r.Instance, Epoch: r.Epoch, Closures: r.Closures, Step: r.Step},
		Over: r.Over, Unsent: r.Unsent, Lost: r.Lost, Abandoned: r.Abandoned, Rejected: r.Rejected,
		Limit: r.Limit, Reset: r.Reset, Dated: r.Dated, Future: r.Future,
	}
}

// at returns the report for a command of now, with durations instead of times.
func (r *report) at(now time.Time) report {
	c := *r
	c.Sent = max(0, now.Sub(r.sent).Milliseconds())
	if !r.received.IsZero() {
		c.Received = max(0, now.Sub(r.received).Milliseconds())
		c.ResetIn = float64(r.resetAt.Sub(r.received)) / float64(time.Millisecond)
		c.Retry = milliseconds(r.retryAt.Sub(r.received))
	}
	return c
}
