package petstore

import (
	"context"
	"math"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/petstore/petstore-go/ratelimit"
)

// outcomeUnknown reports whether the request is a write that the service may have carried out. It
// is never sent again, and its error matches ErrOutcomeUnknown.
func (k *call) outcomeUnknown(a *attempt) bool { return k.isWrite() && a.mayBeDone() }

// mayBeDone reports whether the service may have carried out the request, which can fail in four
// places:
//
//	never sent                no key, no permit, no connection            no
//	refused by the protocol   GOAWAY, REFUSED_STREAM, our certificate     no
//	sent, no whole response   reset, timed out, not HTTP                  yes
//	a response                4xx other than 408, 501                     no
//	                          any other: a gateway may send a 408 or 5xx  yes
//	                          although the service has carried it out
func (a *attempt) mayBeDone() bool {
	code := a.outcome.StatusCode
	switch {
	case !a.mayBeWritten: // also if the protocol refused it: see wire.IsUnprocessed
		return false
	case code == http.StatusRequestTimeout:
		return true
	}
	return code/100 != 4 && code != http.StatusNotImplemented
}

// mayChange reports whether the same request, sent again, may have another result.
func (a *attempt) mayChange() bool {
	code := a.outcome.StatusCode
	switch {
	case a.failure == notAdmitted, a.failure == contextEnded:
		return false
	case code == 0, a.expectedStatus:
		return a.failure == connectionFailed
	case code == http.StatusRequestTimeout, code == http.StatusTooManyRequests:
		return true
	}
	return code >= 500 && code != http.StatusNotImplemented
}

// checkRetry is the CheckRetry of the loop. If it allows another attempt, it plans the pause before
// it. If the context has ended meanwhile, that attempt says so.
func (k *call) checkRetry(ctx context.Context, _ *http.Response, _ error) (bool, error) {
	a := k.last
	// After a 401 there may be another key; admit ends the call if there is not.
	newKey := a.was(http.StatusUnauthorized) && !k.previous.was(http.StatusUnauthorized) && k.config.keyFunc != nil
	mayRepeat := newKey || a.mayChange() && !k.outcomeUnknown(a)
	if !mayRepeat || k.info.Attempt >= k.config.retry.MaxAttempts {
		return false, nil
	}
	if newKey || ctx.Err() != nil {
		k.planPause(0)
		return true, nil
	}
	pause, required := k.pauseAfter(a)
	// What was not sent is no load for the service, and after a 429 the rate limit delays the attempt.
	isFree := !a.mayBeWritten || a.was(http.StatusTooManyRequests)
	if !k.hasTime(ctx, pause, required) || !isFree && !k.client.tokens.take() {
		return false, nil
	}
	k.planPause(pause)
	return true, nil
}

// planPause plans another attempt, after a pause, and reports its beginning.
func (k *call) planPause(d time.Duration) {
	k.pause = ratelimit.Wait{Reason: ratelimit.ReasonBackoff, Until: time.Now().Add(d), Waiting: 1}
	if d > 0 {
		k.WaitStart(k.pause)
	}
	k.pause.Duration = d
}

// pauseAfter returns the pause after an attempt, and whether the service requires it.
func (k *call) pauseAfter(a *attempt) (pause time.Duration, required bool) {
	pause, retryAfter := k.config.retry.backoff(k.info.Attempt), a.outcome.RetryAfter
	switch {
	case a.was(http.StatusTooManyRequests) && !a.loopWaits:
		return 0, false // the limiter waits, or refuses at once
	case a.was(http.StatusTooManyRequests):
		// Jitter, so that calls that got their 429 together do not retry together.
		return max(pause, time.Until(a.retryAt)) + rand.N(k.config.retry.BaseDelay), true
	case a.was(http.StatusServiceUnavailable) && retryAfter > 0:
		return pause + min(retryAfter, math.MaxInt64-pause), true
	case a.connection.isDead() && k.previous == nil:
		return 0, false // only once: the service may just have closed an idle connection
	}
	return pause, false
}

// hasTime reports whether a pause is within the deadline and, if the service requires it, within
// the rest of WithMaxWait.
func (k *call) hasTime(ctx context.Context, pause time.Duration, required bool) bool {
	deadline, ok := ctx.Deadline()
	return (!ok || time.Until(deadline) > pause) && (!required || pause <= k.maxWait)
}

// endPause reports the end of the pause before an attempt, if there was one. WithMaxWait counts
// only those after a 429.
func (k *call) endPause() {
	w := k.pause
	k.pause = ratelimit.Wait{}
	if w.Duration == 0 {
		return
	}
	w.Duration -= time.Until(w.Until)
	if k.last.was(http.StatusTooManyRequests) {
		k.maxWait -= w.Duration
	}
	k.WaitDone(w)
}

// tokens limits the retries of a client, so that they do not multiply the load during an outage. It
// counts the successes that are needed until all tokens are there again. The zero value has all.
type tokens struct{ spent atomic.Int64 }

const (
	// mostTokens lets 33 calls use all their 3 default retries at the beginning of an outage.
	mostTokens = 100
	// successesPerToken: in the long run, retries add at most a tenth to the load.
	successesPerToken = 10
)

// take takes a token and reports whether there was one.
func (t *tokens) take() bool {
	if t.spent.Add(successesPerToken) <= mostTokens*successesPerToken {
		return true
	}
	t.spent.Add(-successesPerToken)
	return false
}

// earn notes the success of a call.
func (t *tokens) earn() {
	if t.spent.Add(-1) < 0 {
		t.spent.Add(1) // undoes the subtraction, since all tokens were there
	}
}

// backoff returns the pause after the n-th attempt. It is exponential. Half of it is random, so
// that calls that failed together do not retry together; the other half ensures that none retries
// at once.
func (p RetryPolicy) backoff(n int) time.Duration {
	d := p.BaseDelay
	for i := 1; i < n && d < p.MaxDelay; i++ {
		d += min(d, p.MaxDelay-d) // d doubles, without an overflow
	}
	return d/2 + rand.N(d/2+1)
}
