package petstoreredis

import (
	"net/http"
	"time"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/internal/quota"
)

// slot is what the script says about a request that it admits, and gets back with the outcome.
type slot struct {
	Instance  string  `json:"instance"` // of the state
	Responses int     `json:"known"`    // that it knew
	Epoch     int     `json:"epoch"`    // windows so far
	Closures  int     `json:"closures"` // so far
	Step      int     `json:"step"`     // the eighth of a second in which it was admitted
	Base      int     `json:"base"`     // left, less what was in flight, if nothing had ever been admitted
	Heard     float64 `json:"heard"`    // when that was known, by the clock of Redis, in milliseconds
	First     bool    `json:"ahead"`    // it is a probe
	Urgent    bool    `json:"urgent"`   // others wait for its response
}

// report is the outcome of N requests that differ in nothing that the script asks for;
// script/window.lua describes the fields. Times are milliseconds ago, or from Received on.
type report struct {
	slot

	N         int     `json:"n"`
	Over      bool    `json:"over"`      // sent when the window was over
	Unsent    bool    `json:"unsent"`    // never sent: the permit goes back
	Lost      bool    `json:"lost"`      // without a response
	Abandoned bool    `json:"abandoned"` // lost because the caller gave up, or unsent because not tried
	Rejected  bool    `json:"rejected"`  // 429
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
func newReport(s slot, over bool, o petstore.Observation, f quota.Offset) report {
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

// join adds the outcome of another request if it is of the same kind, so that a batch of responses
// is one report. It returns whether it did.
//
// Both together mean the lowest Remaining with the highest number of known responses: a response
// supersedes all that was known when its request was sent.
func (r *report) join(o report) bool {
	if r.First || o.First || r.kind() != o.kind() {
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

// kind returns r without what may differ between reports that are joined.
func (r *report) kind() report {
	return report{
		slot: slot{Instance: r.Instance, Epoch: r.Epoch, Closures: r.Closures, Step: r.Step},
		Over: r.Over, Unsent: r.Unsent, Lost: r.Lost, Abandoned: r.Abandoned, Rejected: r.Rejected,
		Limit: r.Limit, Reset: r.Reset, Dated: r.Dated, Future: r.Future,
	}
}

// at returns the report as it is sent at now, with durations in place of times.
func (r *report) at(now time.Time) report {
	c := *r
	c.Sent = max(0, now.Sub(r.sent).Milliseconds())
	if r.received.IsZero() {
		return c
	}
	c.Received = max(0, now.Sub(r.received).Milliseconds())
	c.ResetIn = float64(r.resetAt.Sub(r.received)) / float64(time.Millisecond)
	c.Retry = milliseconds(r.retryAt.Sub(r.received))
	return c
}
