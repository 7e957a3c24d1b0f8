package sim

import (
	"net/http"
	"strconv"
	"time"

	"github.com/petstore/petstore-go/fake"
)

// condition is one way in which the service, the network or the callers differ from the document.
// The zero condition is the document's.
type condition struct {
	name, text string // conditions of one text share a line of the document

	banAfter   int                 // further requests after a 429; 0 is 5
	skew       time.Duration       // of the service's clock
	retryAfter fake.RetryAfterForm // of a 429
	planChange time.Duration       // from the start, to cell.laterPlan; 0 is never
	dayWindows float64             // after which the day's quota is used up; 0 is never
	clients    int                 // that share the job, 0 is one
	unaware    bool                // each with a limiter of its own

	slow, lost, undialled, cancels float64       // parts of all requests
	slowBy                         time.Duration // what a slow response takes more; 0 is 10 seconds

	noDate bool
	bare   int                          // one in so many responses has no rate limit headers; 0 is none
	reset  func(now, reset int64) int64 // what a response shows in place of its Reset, if not nil
	absurd bool                         // Reset cannot be understood

	// Of a load: the calls that begin together; each batch is a program of its own, whose calls
	// follow each other; WithMaxWait(0).
	batch         int
	short, noWait bool

	// Of a burst: the time of each request and the limit of each call, if any; the calls that the
	// program made before, with a pause after each; the burst is made by a new process.
	took, budget time.Duration
	before       int
	pause        time.Duration
	restart      bool

	apart time.Duration // between the starts of two processes of a fleet
}

// The headers of section 8.2, and what conditions do to them.
const (
	headerLimit     = "X-RateLimit-Limit"
	headerRemaining = "X-RateLimit-Remaining"
	headerReset     = "X-RateLimit-Reset"
)

// once reports whether each call is made once, as by programs with a user. The calls of a job are
// made until they succeed.
func (k condition) once() bool { return k.batch > 0 || k.took > 0 }

// conditions returns all of them, the document's first.
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
	inSeconds := func(now, reset int64) int64 { return reset - now } // as the RateLimit headers have it
	return []condition{
		{name: "plain", text: "as the document has it"},
		{name: "ban-3", text: "a ban after 3 requests", banAfter: 3},
		{name: "clock+10m", text: clocks, skew: skew},
		{name: "clock-10m", text: clocks, skew: -skew},
		{name: "no-date", text: clocks, noDate: true},
		{name: "no-date+10m", text: badReset, noDate: true, skew: skew, absurd: true},
		{name: "no-date-10m", text: badReset, noDate: true, skew: -skew, absurd: true},
		{name: "http-date", text: clocks, retryAfter: fake.RetryAfterDate, skew: skew},
		{name: "no-retry-after", text: missing, retryAfter: fake.RetryAfterAbsent},
		{name: "some-headers", text: missing, bare: 10},
		{name: "no-headers", text: "no rate limit headers at all", bare: 1, banAfter: 3},
		{name: "reset-past", text: badReset, reset: anHourAgo, absurd: true},
		{name: "reset-delta", text: badReset, reset: inSeconds, absurd: true},
		{name: "reset-far", text: badReset, reset: inTenYears, absurd: true},
		{name: "plan-change", text: "another plan after 100 seconds", planChange: 100 * time.Second},
		{name: "day", text: "the day's quota ends after three windows", dayWindows: 3},
		{name: "slow", text: "one response in fifty takes 10 seconds more", slow: 0.02},
		{name: "lost", text: failures, lost: 0.02},
		{name: "undialled", text: failures, undialled: 0.02},
		{name: "cancels", text: "one caller in eight gives up", cancels: 0.125},
		{
			name: "two-unaware", text: "two clients, each unaware of the other",
			clients: 2, unaware: true, banAfter: 3,
		},
	}
}

// distort changes the i-th response, which the service sends at now.
func (k condition) distort(h http.Header, now time.Time, i int) {
	if k.noDate {
		h.Del("Date")
	}
	if k.reset != nil {
		reset, _ := strconv.ParseInt(h.Get(headerReset), 10, 64) // the fake's own, always a number
		h.Set(headerReset, strconv.FormatInt(k.reset(now.Unix(), reset), 10))
	}
	if k.bare > 0 && (i+7)%k.bare == 0 { // of ten, the fourth
		h.Del(headerLimit)
		h.Del(headerRemaining)
		h.Del(headerReset)
	}
}
