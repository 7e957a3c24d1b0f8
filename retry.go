package petstore

import (
	"context"
	"errors"
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
// it takes successes to earn one. What the rate limit delays needs none. The zero retryBudget is full.
type retryBudget struct{ spent atomic.Int64 } // in successes

const (
	retryTokens       = 100 // retries that no success has paid for
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

// transientStatus reports whether an answer with this status may be different the next time, and leaves
// open whether the request was carried out. 429 is neither: it was not.
func transientStatus(code int) bool {
	return code == http.StatusRequestTimeout || code >= 500 && code != http.StatusNotImplemented
}

// checkRetry, noBackoff and prepareRetry are what go-retryablehttp calls after an attempt. The waiting is all
// done in prepareRetry: Backoff sees neither the call nor its context, and cannot say no.
func checkRetry(ctx context.Context, _ *http.Response, err error) (bool, error) {
	k := callFrom(ctx)
	if err != nil && k.last.err == nil && k.last.statusCode == 0 {
		k.last.failed(k.attribute(ctx, err), failurePermanent) // http.Client refused before the attempt
	}
	k.due = k.again()
	if k.due {
		// The attempt is over, and so is its context; its transport may still be reading the request.
		k.request.Request = k.request.Request.WithContext(k)
	}
	return k.due, nil
}

func noBackoff(_, _ time.Duration, _ int, _ *http.Response) time.Duration { return 0 }

func prepareRetry(req *http.Request) error {
	k := callFrom(req.Context())
	k.current = new(attemptContext)
	k.renew(req)
	if k.pause > 0 {
		if err := k.sleep(k.pause, "backoff"); err != nil {
			return k.endedWhileWaiting()
		}
	}
	return k.admit()
}

// again decides whether the last attempt is followed by another, and plans the wait for it.
func (k *call) again() bool {
	if k.attempts >= k.config.retry.MaxAttempts || contextErr(k.Context) != nil || !k.worthRepeating() {
		return false
	}
	x := &k.last
	if x.statusCode != http.StatusTooManyRequests && !k.client.retries.take() {
		return false
	}
	k.pause, k.notBefore = k.config.retry.backoff(k.attempts), time.Time{}
	switch x.statusCode {
	case http.StatusTooManyRequests:
		k.notBefore = later(time.Now().Add(k.pause), x.retryAt())
		if k.client.limiter == nil {
			k.notBefore = k.notBefore.Add(rand.N(k.config.retry.BaseDelay)) // no two callers march in step
		}
		k.pause = 0
		return k.fits(time.Until(k.notBefore), true)
	case http.StatusServiceUnavailable:
		if x.retryAfter > 0 {
			k.pause += min(x.retryAfter, math.MaxInt64-k.pause)
			return k.fits(k.pause, true)
		}
	}
	return k.fits(k.pause, false)
}

// worthRepeating is the table of the package documentation.
func (k *call) worthRepeating() bool {
	x := &k.last
	switch {
	case x.failure == failurePermanent, x.failure == failureProtocol:
		return false
	case x.statusCode == http.StatusTooManyRequests:
		return true
	case x.statusCode == 0:
		return k.operation.repeatable || !x.sent
	case x.statusCode == k.operation.success:
		return k.operation.repeatable && x.err != nil
	}
	return k.operation.repeatable && transientStatus(x.statusCode)
}

// fits reports whether a wait ends before the context does and, if the service asked for it, within what
// is left of WithMaxWait.
func (k *call) fits(wait time.Duration, asked bool) bool {
	if asked && wait > k.config.maxWait-k.waited {
		return false
	}
	deadline, ok := k.Deadline()
	return !ok || time.Until(deadline) > wait
}

// retryAt is when the answer, a 429, allows the next request, by the local clock; zero if it does not say.
func (x *exchange) retryAt() time.Time { return opensAt(x.observation(time.Time{}), x.windowEnd()) }

// windowEnd is the end of the answer's window by the local clock: relative to the answer's own Date, if it has
// one. Zero if it does not say, or says that it is past.
func (x *exchange) windowEnd() time.Time {
	end := x.rateLimit.Reset
	if !x.date.IsZero() {
		end = x.received.Add(end.Sub(x.date))
	}
	if x.rateLimit.IsZero() || !end.After(x.received) {
		return time.Time{}
	}
	return end
}

// admit waits for leave to send one request. It returns a typed error, and then holds no permit.
func (k *call) admit() error {
	k.client.waiting.Add(1)
	defer k.client.waiting.Add(-1)
	for {
		if err := k.acquire(); err != nil {
			return k.refusal(err)
		}
		if k.notBefore.IsZero() {
			return nil
		}
		// A limiter of the caller's making may not know Retry-After, and without one nobody else waits.
		wait := time.Until(k.notBefore)
		if wait <= 0 {
			return nil
		}
		k.release(Observation{})
		if err := k.sleep(wait, "retry-after"); err != nil {
			return k.refusal(err)
		}
		k.waited += wait
	}
}

func (k *call) acquire() error {
	if ended := endOf(k.Context); ended != nil {
		return ended
	}
	if k.client.limiter == nil {
		k.turn.ready = time.Now()
		return nil
	}
	k.turn.ready = time.Time{}
	var asked time.Time
	_, own := k.client.limiter.(*limiter)
	if !own {
		asked = time.Now()
	}
	permit, err := k.client.limiter.Acquire(k, max(0, k.config.maxWait-k.waited))
	if own {
		asked = k.turn.asked
	}
	if k.turn.ready.IsZero() {
		k.turn.ready = time.Now()
	}
	k.waited += k.turn.ready.Sub(asked)
	k.permit = permit
	return err
}

// sleep waits for d. After the end of the context it never returns nil, whatever the timer says.
func (k *call) sleep(d time.Duration, reason string) error {
	k.logWait(reason, time.Now().Add(d), 1)
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-k.Done():
	}
	return endOf(k.Context)
}

// refusal makes err, which kept a request from being sent, the error of the call.
func (k *call) refusal(err error) error {
	if limited, ok := errors.AsType[*RateLimitError](err); ok {
		e := *limited
		e.Operation = k.operation.name
		e.Local = k.attempts == 0
		e.Err = k.withLast(e.Err)
		return &e
	}
	if endOf(k.Context) != nil {
		return k.endedWhileWaiting()
	}
	return &TransportError{k.operation.name, k.attempts, false, err}
}

// endedWhileWaiting is the error of a call whose context ended between two attempts, or before the first.
func (k *call) endedWhileWaiting() error {
	err := k.withLast(endOf(k.Context))
	if k.last.statusCode != http.StatusTooManyRequests {
		return &TransportError{k.operation.name, k.attempts, false, err}
	}
	return &RateLimitError{
		Operation: k.operation.name,
		RetryAt:   k.notBefore,
		RateLimit: k.last.rateLimit,
		Err:       err,
	}
}

// withLast joins err with the error of the last attempt, if there was one.
func (k *call) withLast(err error) error {
	if k.attempts == 0 {
		return err
	}
	last := k.attemptError()
	if limited, ok := errors.AsType[*RateLimitError](last); ok {
		last = limited.Err // not one RateLimitError in another
	}
	if ended, ok := errors.AsType[*endedError](err); ok {
		return &endedError{ended.ended, ended.cause, last}
	}
	if err == nil {
		return last
	}
	return errors.Join(err, last)
}
