package petstore

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/petstore/petstore-go/ratelimit"
)

// RetryPolicy sets how often a call is retried and with which backoff. A table in the package
// documentation says after what a call is retried. A zero field means its default.
type RetryPolicy struct {
	// MaxAttempts is the largest number of attempts per call, including the first. The default is
	// 4; 1 means no retry.
	MaxAttempts int
	// BaseDelay is the backoff before the second attempt; each further attempt doubles it. The
	// default is 500 ms. The actual pause is random: from half of the backoff to all of it.
	BaseDelay time.Duration
	// MaxDelay limits the backoff, but not the Retry-After of the service. The default is 30 s, or
	// BaseDelay if that is longer.
	MaxDelay time.Duration
}

// withDefaults returns p with the defaults of its zero fields.
func (p RetryPolicy) withDefaults() RetryPolicy {
	const attempts, base, longest = 4, 500 * time.Millisecond, 30 * time.Second
	p.MaxAttempts = cmp.Or(p.MaxAttempts, attempts)
	p.BaseDelay = cmp.Or(p.BaseDelay, min(base, cmp.Or(p.MaxDelay, base)))
	p.MaxDelay = cmp.Or(p.MaxDelay, max(longest, p.BaseDelay))
	return p
}

// backoff returns the pause after the n-th attempt. It is exponential. Half of it is random, so
// that calls that failed together do not retry together; the other half ensures that none retries
// immediately.
func (p RetryPolicy) backoff(n int) time.Duration {
	d := p.BaseDelay
	for i := 1; i < n && d < p.MaxDelay; i++ {
		d += min(d, p.MaxDelay-d) // d doubles, without an overflow
	}
	return d/2 + rand.N(d/2+1)
}

// run makes attempts as long as checkRetry asks for another one, and returns the error of the call.
// The loop of go-retryablehttp waits between them, and ends with the context. It knows nothing of
// what an attempt did: k.last has that.
func (k *call) run() error {
	loop := retryablehttp.Client{
		HTTPClient: &http.Client{Transport: k}, CheckRetry: k.checkRetry, Backoff: k.restOfPause, RetryMax: math.MaxInt,
	}
	request, err := http.NewRequestWithContext(k.stoppable, k.method, k.client.base+k.path, nil)
	if err != nil {
		return &ArgumentError{k.name, "path", "is not valid"}
	}
	request.URL.RawQuery = k.query
	_, _ = loop.Do(&retryablehttp.Request{Request: request}) // k.last has the outcome
	if k.pause != nil {                                      // the context has ended in the pause
		k.endPause()
		k.previous, k.last = k.last, &attempt{failure: noPermit, err: k.endReason(k.stoppable)}
	}
	err = k.errorOf(k.last)
	if err == nil {
		k.client.tokens.earn()
	}
	return err
}

// checkRetry is the CheckRetry of the loop. It begins the pause before another attempt, and reports
// it unless it is 0. If the context has ended already, the loop ends, as it does when the context
// ends in that pause.
func (k *call) checkRetry(context.Context, *http.Response, error) (bool, error) {
	d, again := k.planRetry(k.last)
	if again {
		k.pauseBegun = time.Now()
		k.pause = &ratelimit.Wait{Reason: ratelimit.ReasonBackoff, Until: k.pauseBegun.Add(d), Waiting: 1}
	}
	if again && d > 0 {
		k.WaitStart(*k.pause)
	}
	return again && k.stoppable.Err() == nil, nil
}

// restOfPause is the Backoff of the loop.
func (k *call) restOfPause(time.Duration, time.Duration, int, *http.Response) time.Duration {
	return time.Until(k.pause.Until)
}

// endPause reports the end of the pause before an attempt, if there was one. For WithMaxWait, only
// pauses after a 429 count.
func (k *call) endPause() {
	pause := k.pause
	k.pause = nil
	if pause == nil || !pause.Until.After(k.pauseBegun) {
		return
	}
	pause.Duration = time.Since(k.pauseBegun)
	if k.last.was(http.StatusTooManyRequests) {
		k.maxWait -= pause.Duration
	}
	k.WaitDone(*pause)
}

// outcomeUnknown reports whether the request is a write that the service may have carried out. It
// is also true after a success; callers ask only about failures. Such a write is never sent again;
// its error matches ErrOutcomeUnknown. How a request may fail:
//
//	                                                                      carried out?
//	never sent                no key, no permit, no connection            no
//	refused by the protocol   GOAWAY, REFUSED_STREAM, our certificate     no
//	sent, no whole response   reset, timed out, not HTTP                  perhaps
//	a response                4xx other than 408, 501                     no
//	                          any other: a gateway may send a 408 or 5xx  perhaps
//	                          although the service has carried it out
func (k *call) outcomeUnknown(a *attempt) bool {
	if !k.isWrite() || !a.mayBeWritten { // not written, or refused by the protocol (wire.IsUnprocessed)
		return false
	}
	code := a.outcome.StatusCode // 0 without a response
	return code < http.StatusBadRequest || isOutage(code)
}

// isOutage reports whether a status means that the service, or a gateway before it, is in trouble.
func isOutage(code int) bool {
	return code == http.StatusRequestTimeout || code >= 500 && code != http.StatusNotImplemented
}

// mayChange reports whether the same request, sent again, may have another result.
func (k *call) mayChange(a *attempt) bool {
	code := a.outcome.StatusCode
	switch {
	case a.failure == noPermit, a.failure == contextEnded:
		return false
	case code == 0, k.expects(code):
		return a.failure == connectionFailed
	}
	return code == http.StatusTooManyRequests || isOutage(code)
}

// planRetry decides whether another attempt follows the attempt a, and returns the pause between
// them. If the retry needs a token, planRetry takes one.
func (k *call) planRetry(a *attempt) (pause time.Duration, again bool) {
	// After a 401, keyFunc may return another key. If it returns the same one, getPermit ends the
	// call.
	askForKey := k.config.keyFunc != nil && a.failure != contextEnded &&
		a.was(http.StatusUnauthorized) && !k.previous.was(http.StatusUnauthorized)
	mayRepeat := askForKey || k.mayChange(a) && !k.outcomeUnknown(a)
	switch {
	case !mayRepeat || k.info.Attempt >= k.config.retry.MaxAttempts:
		return 0, false
	case askForKey || k.stoppable.Err() != nil:
		return 0, true // if the context has ended, checkRetry ends the loop, and run reports that end
	}
	pause, required := k.pauseAfter(a)
	// These retries take no token, nor does one after a 401. A request that was not written was no
	// load for the service. What an idle connection of HTTP/1 may have lost, net/http would send
	// again, too. After a 429, the rate limit delays the retry.
	isFree := !a.mayBeWritten || a.was(http.StatusTooManyRequests) ||
		a.connection.mayBeDead() && k.client.transport.http1.Load()
	deadline, ok := k.stoppable.Deadline()
	isTooLong := ok && pause >= time.Until(deadline) || required && pause > k.maxWait
	if isTooLong {
		return pause, false
	}
	return pause, isFree || k.client.tokens.take()
}

// pauseAfter returns the pause after an attempt, and whether the service requires it.
func (k *call) pauseAfter(a *attempt) (pause time.Duration, required bool) {
	pause, retryAfter := k.config.retry.backoff(k.info.Attempt), a.outcome.RetryAfter
	switch {
	case a.was(http.StatusTooManyRequests) && a.limiterWaits():
		return 0, false // the limiter delays or refuses the next attempt
	case a.was(http.StatusTooManyRequests):
		// Jitter, so that calls that got their 429 together do not retry together.
		return max(pause, time.Until(a.retryAt())) + rand.N(k.config.retry.BaseDelay), true
	case a.was(http.StatusServiceUnavailable) && retryAfter > 0:
		return pause + min(retryAfter, math.MaxInt64-pause), true
	case a.connection.mayBeDead() && k.previous == nil:
		return 0, false // no pause, but only once: the service may just have closed an idle connection
	}
	return pause, false
}

// tokens limits the retries of a client, so that they do not multiply the load during an outage.
// owed is the number of successes until all tokens are back. The zero value has all tokens.
type tokens struct{ owed atomic.Int64 }

const (
	// mostTokens is 100, so that 33 calls can use their 3 retries at the beginning of an outage.
	mostTokens = 100
	// successesPerToken is 10, so that in the long run, retries add at most a tenth to the load.
	successesPerToken = 10
)

// take takes a token and reports whether there was one.
func (t *tokens) take() bool {
	if t.owed.Add(successesPerToken) <= mostTokens*successesPerToken {
		return true
	}
	t.owed.Add(-successesPerToken)
	return false
}

// earn notes the success of a call.
func (t *tokens) earn() {
	if t.owed.Add(-1) < 0 {
		t.owed.Add(1) // undoes the subtraction, since all tokens were there
	}
}
