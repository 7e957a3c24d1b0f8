package sim

import (
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/petstore/petstore-go/fake"
)

// condition is one way in which the service, the network or the callers differ from what the
// document says. In the zero condition they do not differ.
type condition struct {
	name, text string  // conditions with the same text share a line of the table
	ratio      float64 // the largest that is allowed; 0: any

	skew       time.Duration       // of the service's clock
	retryAfter fake.RetryAfterForm // of a 429
	planChange time.Duration       // when after the start the plan doubles; 0 is never
	dayWindows int                 // the day's quota is used up after so many windows; 0 is never

	slow, lost, undialled, cancels float64 // shares of all requests

	noDate bool
	bare   int                          // one in so many responses has no rate limit headers; 0 is none
	reset  func(now, reset int64) int64 // what a response shows in place of its Reset, if not nil
}

// conditions returns all conditions, the zero one first.
func conditions() []condition {
	const (
		skew     = 10 * time.Minute
		clocks   = "a clock 10 minutes ahead or behind; no Date; Retry-After as an HTTP-date"
		missing  = "a 429 has no Retry-After; one response in ten has no headers"
		badReset = "Reset is an hour ago, in ten years, or in seconds from now; 10 minutes wrong without Date"
		failures = "one response in fifty is lost, or one request in fifty gets no connection"
	)
	anHourAgo := func(now, _ int64) int64 { return now - 60*60 }
	inTenYears := func(now, _ int64) int64 { return now + 10*365*24*60*60 }
	inSeconds := func(now, reset int64) int64 { return reset - now } // seconds from now, as in the RateLimit headers
	return []condition{
		{name: "plain", text: "as the document has it", ratio: 1.03},
		{name: "clock+10m", text: clocks, ratio: 1.03, skew: skew},
		{name: "clock-10m", text: clocks, ratio: 1.03, skew: -skew},
		{name: "no-date", text: clocks, ratio: 1.03, noDate: true},
		{name: "http-date", text: clocks, ratio: 1.03, retryAfter: fake.RetryAfterDate, skew: skew},
		{name: "no-date+10m", text: badReset, ratio: 1.12, noDate: true, skew: skew},
		{name: "no-date-10m", text: badReset, ratio: 1.12, noDate: true, skew: -skew},
		{name: "reset-past", text: badReset, ratio: 1.12, reset: anHourAgo},
		{name: "reset-delta", text: badReset, ratio: 1.12, reset: inSeconds},
		{name: "reset-far", text: badReset, ratio: 1.12, reset: inTenYears},
		{name: "no-retry-after", text: missing, ratio: 1.05, retryAfter: fake.RetryAfterAbsent},
		{name: "some-headers", text: missing, ratio: 1.05, bare: 10},
		{name: "no-headers", text: "no rate limit headers at all", bare: 1},
		{name: "plan-change", text: "twice the plan after 100 seconds", ratio: 1, planChange: 100 * time.Second},
		{name: "day", text: "the day's quota ends after three windows", ratio: 1.01, dayWindows: 3},
		{name: "slow", text: "one response in fifty takes 10 seconds more", ratio: 1.15, slow: 0.02},
		{name: "lost", text: failures, lost: 0.02},
		{name: "undialled", text: failures, undialled: 0.02},
		{name: "cancels", text: "one caller in eight gives up", ratio: 1.05, cancels: 0.125},
	}
}

// distort changes the i-th response, which the service sends at now.
func (k condition) distort(h http.Header, now time.Time, i int) {
	const header = "X-RateLimit-"
	if k.noDate {
		h.Del("Date")
	}
	if k.reset != nil {
		reset, _ := strconv.ParseInt(h.Get(header+"Reset"), 10, 64) // the fake's own, always a number
		h.Set(header+"Reset", strconv.FormatInt(k.reset(now.Unix(), reset), 10))
	}
	if k.bare > 0 && (i+7)%k.bare == 0 { // if bare is 10, the fourth, fourteenth and so on
		h.Del(header + "Limit")
		h.Del(header + "Remaining")
		h.Del(header + "Reset")
	}
}

// promises reports whether a result is as good as this condition allows. Without headers, no client
// can avoid 429s; and with bad luck, all attempts of a call fail.
func (k condition) promises(r result) bool {
	rejected, failed := 0, 0
	switch {
	case k.bare == 1:
		rejected = math.MaxInt
	case k.planChange > 0:
		rejected = 2
	case k.lost > 0 || k.undialled > 0:
		rejected, failed = 2, 1 // after a lost response, a sliding window may be fuller than it seems
	}
	inTime := k.ratio == 0 || r.ratio <= k.ratio
	return r.bans == 0 && r.rejected <= rejected && r.failed <= failed && inTime
}
