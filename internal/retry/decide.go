package retry

import (
	"cmp"
	"math"
	"net/http"
	"sync/atomic"
	"time"
)

// Facts is all that Decide needs to know after a request.
type Facts struct {
	Result

	Repeatable bool                // sending the request again has no further effect
	NewKey     bool                // after a 401, there may be another key
	Stale      bool                // the connection had been used before, and broke before the response
	Number     int                 // of the request within the call, starting at 1
	Policy     Policy              // of the call
	RetryAfter time.Duration       // of the response; 0 without one
	OpensAt    time.Time           // time from which a 429 allows the next request; zero if not known
	Unlimited  bool                // there is no limiter
	Now        time.Time           // the current time
	Deadline   time.Time           // of the call; zero without one
	MaxWait    time.Duration       // longest wait that the service may still ask for
	Random     func(n int64) int64 // rand.Int64N
}

// Plan is the decision about the next request of a call.
type Plan struct {
	Again      bool          // there is another request
	Asked      bool          // the service asked for Pause by a Retry-After
	Costs      bool          // it takes one of the Tokens
	Pause      time.Duration // wait before it: backoff, and the Retry-After of a 503
	NotBefore  time.Time     // earliest time of the request after a 429
	NotRetried string        // why there is no other request, if only this prevents it; else empty
}

// Decide returns the plan after a request. There is no other request if the wait before it would
// exceed the deadline or, if the service asked for the wait, MaxWait.
func Decide(f *Facts) Plan {
	switch {
	case f.Number >= f.Policy.MaxAttempts:
		return Plan{}
	case f.Status == http.StatusUnauthorized && f.NewKey:
		return Plan{Again: true}
	case !f.rule().Again, !f.Repeatable && f.MayBeDone():
		return Plan{}
	case f.Status == http.StatusTooManyRequests:
		return after429(f)
	}
	if f.Stale { // the service may just have closed an idle connection: no reason to wait
		return Plan{Again: true}
	}
	p := Plan{Pause: f.Policy.Backoff(f.Number, f.Random), Costs: f.Sent}
	if f.Status == http.StatusServiceUnavailable && f.RetryAfter > 0 {
		p.Pause += min(f.RetryAfter, math.MaxInt64-p.Pause)
		p.Asked = true
	}
	p.Again = f.fits(p.Pause, p.Asked)
	if p.Asked && !p.Again {
		p.NotRetried = "Retry-After is longer than the call may wait"
	}
	return p
}

// after429 returns a plan with another request at the time from which the service allows one. The
// limiter usually waits until then anyway: the plan matters without a limiter, or with one that
// ignores Retry-After.
func after429(f *Facts) Plan {
	p := Plan{NotBefore: f.Now.Add(f.Policy.Backoff(f.Number, f.Random))}
	if f.OpensAt.After(p.NotBefore) {
		p.NotBefore = f.OpensAt
	}
	if f.Unlimited {
		// Jitter, so that calls that got their 429 together do not retry together.
		p.NotBefore = p.NotBefore.Add(time.Duration(f.Random(int64(f.Policy.BaseDelay))))
		p.Pause = p.NotBefore.Sub(f.Now)
	}
	p.Again = f.fits(p.NotBefore.Sub(f.Now), true)
	return p
}

func (f *Facts) fits(wait time.Duration, asked bool) bool {
	return !(asked && wait > f.MaxWait) && (f.Deadline.IsZero() || f.Deadline.Sub(f.Now) > wait)
}

// Policy has the same fields as RetryPolicy of the client, which describes them.
type Policy struct {
	MaxAttempts int           // requests per call
	BaseDelay   time.Duration // first backoff
	MaxDelay    time.Duration // longest backoff
}

// WithDefaults returns p with the defaults of its zero fields.
func (p Policy) WithDefaults() Policy {
	const attempts, base, longest = 4, 500 * time.Millisecond, 30 * time.Second
	p.MaxAttempts = cmp.Or(p.MaxAttempts, attempts)
	p.BaseDelay = cmp.Or(p.BaseDelay, min(base, cmp.Or(p.MaxDelay, base)))
	p.MaxDelay = cmp.Or(p.MaxDelay, max(longest, p.BaseDelay))
	return p
}

// Backoff returns the pause after the n-th request. It is exponential. Half of it is random, so
// that callers that failed together do not retry together; the other half ensures that none retries
// at once.
func (p Policy) Backoff(n int, random func(int64) int64) time.Duration {
	d := p.BaseDelay
	for i := 1; i < n && d < p.MaxDelay; i++ {
		d += min(d, p.MaxDelay-d) // d doubles, without an overflow
	}
	return d/2 + time.Duration(random(int64(d/2)+1))
}

// Tokens limits the retries for a key, so that they do not multiply the load during an outage. A
// retry takes a token, and successes add tokens. A retry after a 429 takes none, since the rate
// limit delays it; neither does a retry of a request that was not sent, since it is no load for the
// service. The zero Tokens has all its tokens.
type Tokens struct{ spent atomic.Int64 } // successes that are needed until it has all its tokens again

const (
	// tokens is the largest number of tokens. It lets 33 calls use all their 3 default retries at the
	// beginning of an outage.
	tokens = 100
	// successesPerToken: in the long run there is at most one retry for 10 successes, so that
	// retries add at most a tenth to the load.
	successesPerToken = 10
)

// Take takes a token and reports whether there was one.
func (t *Tokens) Take() bool {
	if t.spent.Add(successesPerToken) <= tokens*successesPerToken {
		return true
	}
	t.spent.Add(-successesPerToken)
	return false
}

// Succeeded notes the success of a call.
func (t *Tokens) Succeeded() {
	if t.spent.Add(-1) < 0 {
		t.spent.Add(1) // undoes the subtraction, since it had all its tokens
	}
}
