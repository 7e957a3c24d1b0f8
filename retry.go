package petstore

import (
	"context"
	"math"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"time"
)

// RetryPolicy says how often and how fast a call is retried; what is retried stands in the package
// documentation. A zero field stands for its default, so the zero RetryPolicy is the default.
type RetryPolicy struct {
	// MaxAttempts is the number of requests per call, the first included. The default is 4;
	// 1 means no retry.
	MaxAttempts int
	// BaseDelay is the backoff before the second request; it doubles with each further one. The
	// default is 500 ms. Of each backoff the second half is random.
	BaseDelay time.Duration
	// MaxDelay bounds the backoff, not what the service asks for in Retry-After. The default is
	// 30 s, or BaseDelay if that is more.
	MaxDelay time.Duration
}

func (p RetryPolicy) withDefaults() RetryPolicy {
	if p.MaxAttempts == 0 {
		p.MaxAttempts = 4
	}
	if p.BaseDelay == 0 {
		p.BaseDelay = 500 * time.Millisecond
		if p.MaxDelay != 0 {
			p.BaseDelay = min(p.BaseDelay, p.MaxDelay)
		}
	}
	if p.MaxDelay == 0 {
		p.MaxDelay = max(30*time.Second, p.BaseDelay)
	}
	return p
}

// backoff is the pause after the n-th attempt: exponential, at least half of what it would be without
// jitter.
func (p RetryPolicy) backoff(n int) time.Duration {
	d := p.BaseDelay
	for i := 1; i < n && d < p.MaxDelay; i++ {
		d += min(d, p.MaxDelay-d) // doubles, and cannot overflow
	}
	return d/2 + rand.N(d/2+1)
}

// retryBudget keeps an outage from multiplying the traffic of all who call at once: a retry takes a token, and
// it takes successes to earn one. A retry after a 429 takes none, since the rate limit delays it, nor does one of
// which nothing was sent, since it is no load for the service. The zero retryBudget is full.
type retryBudget struct{ spent atomic.Int64 } // in successes

const (
	// retryTokens is the number of retries that no success has paid for: 25 calls with the default of 4
	// attempts and more fail together before the budget bounds them.
	retryTokens = 100
	// successesPerToken bounds the retries to a tenth of the successes in the long run.
	successesPerToken = 10
)

// take reports whether there was a token, and takes it.
func (b *retryBudget) take() bool {
	if b.spent.Add(successesPerToken) <= retryTokens*successesPerToken {
		return true
	}
	b.spent.Add(-successesPerToken)
	return false
}

func (b *retryBudget) succeeded() {
	if b.spent.Load() > 0 && b.spent.Add(-1) < 0 {
		b.spent.Add(1) // another success was faster
	}
}

// transientStatus reports whether a response with this status may be different the next time, and leaves
// open whether the request was carried out. 429 is neither: it was not.
func transientStatus(code int) bool {
	return code == http.StatusRequestTimeout || code >= 500 && code != http.StatusNotImplemented
}

// checkRetry is what go-retryablehttp asks after each attempt. It plans what follows; the waiting is all done at the
// gate, since Backoff sees neither the call nor its context and cannot refuse.
func checkRetry(ctx context.Context, _ *http.Response, _ error) (bool, error) {
	k := callOf(ctx)
	if sent := k.refused == nil && k.last != nil; sent {
		k.plan = k.decide(k.last)
		return k.plan.again, nil
	}
	return false, nil
}

func noBackoff(_, _ time.Duration, _ int, _ *http.Response) time.Duration { return 0 }

// decide plans what follows a.
func (k *call) decide(a *attempt) plan {
	switch refused := a.statusCode == http.StatusUnauthorized && k.client.rotates; {
	case !refused && !a.worthRepeating(),
		a.number >= k.config.retry.MaxAttempts,
		contextErr(k.ctx.Context) != nil:
		return plan{}
	case refused:
		return plan{again: !k.newKey.Swap(true)} // if there is another key; see prepareAdmission
	case a.statusCode == http.StatusTooManyRequests:
		return k.planAfter429(a)
	case a.sent && !k.client.retries.take():
		return plan{}
	}
	p := plan{pause: k.config.retry.backoff(a.number), reason: WaitBackoff}
	if a.statusCode == http.StatusServiceUnavailable && a.retryAfter > 0 {
		p.pause += min(a.retryAfter, math.MaxInt64-p.pause)
		p.reason = WaitRetryAfter
		p.again = k.fits(p.pause, true)
		p.tooLong = !p.again
		return p
	}
	p.again = k.fits(p.pause, false)
	return p
}

// planAfter429 has the call go again when the service allows it. The limiter, which knows as much, keeps its place.
func (k *call) planAfter429(a *attempt) plan {
	p := plan{notBefore: later(time.Now().Add(k.config.retry.backoff(a.number)), a.retryAt())}
	if k.client.limiter == nil {
		p.notBefore = p.notBefore.Add(rand.N(k.config.retry.BaseDelay)) // no two callers march in step
	}
	p.again = k.fits(time.Until(p.notBefore), true)
	return p
}

// worthRepeating is the table of the package documentation.
func (a *attempt) worthRepeating() bool {
	op := a.operation()
	switch {
	case a.failure == failurePermanent, a.failure == failureProtocol:
		return false
	case a.statusCode == http.StatusTooManyRequests:
		return true
	case a.statusCode == 0:
		return op.repeatable || !a.sent
	case a.statusCode == op.success:
		return op.repeatable && a.err != nil
	}
	return op.repeatable && transientStatus(a.statusCode)
}

// fits reports whether a wait ends before the context does and, if the service asked for it, within what
// is left of WithMaxWait.
func (k *call) fits(wait time.Duration, asked bool) bool {
	if asked && wait > k.config.maxWait-time.Duration(k.waited.Load()) {
		return false
	}
	deadline, ok := k.ctx.Deadline()
	return !ok || time.Until(deadline) > wait
}
