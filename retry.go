package petstore

import (
	"context"
	"math"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/petstore/petstore-go/internal/quota"
	"github.com/petstore/petstore-go/internal/wire"
)

// RetryPolicy sets how often a call is retried and with which backoff; the package documentation
// has the table of what is retried. A zero field means its default, so the zero RetryPolicy is the
// default.
type RetryPolicy struct {
	// MaxAttempts is the largest number of requests per call, including the first. The default is
	// 4; 1 means no retry.
	MaxAttempts int
	// BaseDelay is the backoff before the second request; it doubles with each further one. The
	// default is 500 ms. The second half of each backoff is random.
	BaseDelay time.Duration
	// MaxDelay limits the backoff, but not the Retry-After of the service. The default is 30 s, or
	// BaseDelay if that is longer.
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

// backoff returns the pause after the n-th attempt. It is exponential. Half of it is random, so
// that callers that failed together do not retry together; the other half ensures that none retries
// at once.
func (p RetryPolicy) backoff(n int) time.Duration {
	d := p.BaseDelay
	for i := 1; i < n && d < p.MaxDelay; i++ {
		d += min(d, p.MaxDelay-d) // d doubles, without an overflow
	}
	return d/2 + rand.N(d/2+1)
}

// retryBudget limits the retries of a client, so that they do not multiply the load during an
// outage. A retry takes a token, and successes add tokens. A retry after a 429 takes none, since
// the rate limit delays it; neither does a retry of a request that was not sent, since it is no
// load for the service. The zero retryBudget is full.
type retryBudget struct{ spent atomic.Int64 } // successes that would fill the budget again

const (
	// retryTokens is the size of the budget: 33 calls can use all their 3 default retries at the
	// beginning of an outage.
	retryTokens = 100
	// successesPerToken: in the long run there is at most one retry for 10 successes, so that
	// retries add at most a tenth to the load.
	successesPerToken = 10
)

// take takes a token and reports whether there was one.
func (b *retryBudget) take() bool {
	if b.spent.Add(successesPerToken) <= retryTokens*successesPerToken {
		return true
	}
	b.spent.Add(-successesPerToken)
	return false
}

func (b *retryBudget) succeeded() {
	if b.spent.Load() > 0 && b.spent.Add(-1) < 0 {
		b.spent.Add(1) // another call has filled the budget meanwhile
	}
}

// mayBeDone reports whether the service may have carried out a request with a response of this
// status, or with none if code is 0. A refusal is certain: a gateway's 408 or 5xx is no refusal by
// the service, and a 303 is what follows a POST that was carried out.
func mayBeDone(code int) bool {
	switch {
	case code == http.StatusNotImplemented:
		return false
	case code/100 == 4:
		return code == http.StatusRequestTimeout
	}
	return true
}

// mayBeDone reports whether the service may have carried out the request of a. All that is said
// about a create, by retries and errors, follows from it and the function of the same name.
func (a *attempt) mayBeDone() bool {
	return a.sent && a.failure != wire.Unprocessed && mayBeDone(a.statusCode)
}

// checkRetry is the CheckRetry of go-retryablehttp, which is called after each attempt. It makes
// the plan. The waits are at the gate and not in Backoff, which gets no context and cannot end the
// call.
func checkRetry(ctx context.Context, _ *http.Response, _ error) (bool, error) {
	k := callOf(ctx)
	if sent := k.refused == nil && k.last != nil; sent {
		k.plan = k.decide(k.last)
		return k.plan.again, nil
	}
	return false, nil
}

func noBackoff(_, _ time.Duration, _ int, _ *http.Response) time.Duration { return 0 }

// plan is the decision about the next attempt.
type plan struct {
	again     bool          // there is a next attempt
	pause     time.Duration // wait before it: backoff, and the Retry-After of a 503
	reason    WaitReason    // of pause
	notBefore time.Time     // earliest time of the next attempt after a 429
	tooLong   bool          // there is none, because the Retry-After of a 503 is too long
}

// decide returns the plan after a.
func (k *call) decide(a *attempt) plan {
	switch refused := a.statusCode == http.StatusUnauthorized && k.client.rotates; {
	case !refused && !a.worthRepeating(),
		a.number >= k.config.retry.MaxAttempts,
		k.ended() != nil:
		return plan{}
	case refused:
		return plan{again: !k.newKey.Swap(true)} // prepareAdmission ends the call if the key is the same
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

// planAfter429 returns a plan with a retry when the service allows it. The limiter usually waits as
// long; the plan matters without a limiter, or with one that ignores Retry-After.
func (k *call) planAfter429(a *attempt) plan {
	p := plan{notBefore: quota.Later(time.Now().Add(k.config.retry.backoff(a.number)), a.retryAt())}
	if k.client.limiter == nil {
		// Jitter, so that calls that got their 429 together do not retry together.
		p.notBefore = p.notBefore.Add(rand.N(k.config.retry.BaseDelay))
	}
	p.again = k.fits(time.Until(p.notBefore), true)
	return p
}

// worthRepeating reports whether a may be retried, by the table of the package documentation.
func (a *attempt) worthRepeating() bool {
	return a.transient() && (a.operation().repeatable || !a.mayBeDone())
}

// transient reports whether another attempt may have a different result.
func (a *attempt) transient() bool {
	switch {
	case a.statusCode == 0:
		return a.failure != wire.Permanent && a.failure != wire.Protocol
	case a.operation().succeeds(a.statusCode):
		return a.err != nil
	}
	return wire.TransientStatus(a.statusCode)
}

// fits reports whether a wait ends before the context's deadline and, if the service asked for the
// wait, within the rest of WithMaxWait.
func (k *call) fits(wait time.Duration, asked bool) bool {
	if asked && wait > k.config.maxWait-time.Duration(k.waited.Load()) {
		return false
	}
	deadline, ok := k.ctx.Deadline()
	return !ok || time.Until(deadline) > wait
}
