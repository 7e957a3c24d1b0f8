package petstore

import (
	"context"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/petstore/petstore-go/internal/retry"
	"github.com/petstore/petstore-go/internal/wire"
	"github.com/petstore/petstore-go/ratelimit"
)

// This file is the only one that knows go-retryablehttp: the loop around the attempts of a call.

// loop is go-retryablehttp for one call.
type loop struct {
	client   retryablehttp.Client
	http     http.Client
	response http.Response // what the loop sees of the last one
}

// run sends the request, again while decide says so, and returns the error of the call. What
// differs between attempts, sender adds: the key, cookies and the body.
func (k *call) run() error {
	l := &k.loop
	// It has no jar, because the cookies are those of the attempt's key. Its transport has no
	// CloseIdleConnections: go-retryablehttp calls that after each failure, and would close the
	// connections of all calls that share the transport.
	l.http.Transport = sender{k} // whose responses have no Location, so that no redirect is followed
	l.client.HTTPClient = &l.http
	l.client.RetryMax = k.config.retry.MaxAttempts
	l.client.CheckRetry = k.decide
	l.client.Backoff = k.wait
	l.client.ErrorHandler = retryablehttp.PassthroughErrorHandler
	// The loop waits with this context. Each attempt has another one, which WithStop does not end.
	req := http.Request{Method: k.operation.method, URL: &k.url, Header: noHeader}
	defer k.finishPause()
	// The response has no body; see sender.
	_, err := l.client.Do(&retryablehttp.Request{Request: req.WithContext(k.waits)})
	p := &k.progress
	switch {
	case p.refused != nil:
		return p.refused
	case p.last == nil: // http.Client refused the request
		return k.transportError(wire.Cause(err))
	case p.plan.Again: // the context ended before the planned attempt
		return k.endedWhileWaiting(k.ended())
	case p.last.succeeded():
		p.last.keyState.retries.Succeeded()
		return nil
	}
	return k.ofLast()
}

// noHeader is for the loop. Nothing writes to it.
var noHeader = make(http.Header)

// decide is the CheckRetry of the loop: it plans the next attempt.
func (k *call) decide(context.Context, *http.Response, error) (bool, error) {
	p := &k.progress
	p.plan = retry.Plan{}
	if p.refused != nil || p.last == nil || p.last.ended != nil || p.last.succeeded() {
		return false, nil
	}
	p.plan = k.planAfter(p.last)
	if k.ended() != nil { // run returns that error if there is a plan
		return false, nil
	}
	if p.plan.Again && p.plan.Costs && !p.last.keyState.retries.Take() {
		p.plan = retry.Plan{NoTokens: true}
	}
	return p.plan.Again, nil
}

// planAfter asks internal/retry what to do after a.
func (k *call) planAfter(a *attempt) retry.Plan {
	p := &k.progress
	facts := retry.Facts{
		Result:     a.result(),
		Repeatable: k.operation.repeatable,
		NewKey:     k.client.rotates && !p.askedKey,
		Number:     a.number,
		Policy:     k.config.retry,
		RetryAfter: a.response.RetryAfter,
		OpensAt:    a.lockout.Until,
		Unlimited:  a.ownWait,
		Now:        time.Now(),
		MaxWait:    k.config.maxWait - p.seen.Waited,
		Random:     rand.Int64N,
	}
	facts.Deadline, _ = k.ctx.Deadline()
	plan := retry.Decide(&facts)
	p.askedKey = p.askedKey || plan.Again && a.unauthorized() // admit ends the call if the key is the same
	return plan
}

// wait is the Backoff of the loop: it returns the pause before the next attempt. After a 429 there
// is none if there is a limiter, because the attempt waits in its queue.
func (k *call) wait(_, _ time.Duration, _ int, _ *http.Response) time.Duration {
	p := &k.progress
	pause := p.plan.Pause
	if pause <= 0 {
		return 0
	}
	begun := time.Now()
	w := ratelimit.Wait{Reason: k.waitReason(), Until: begun.Add(pause), Waiting: 1}
	p.endPause = func() {
		p.endPause = nil
		w.Duration = time.Since(begun)
		if p.last.response.StatusCode == http.StatusTooManyRequests {
			w.Limited = w.Duration
			p.record(func(seen *Call) { seen.Waited += w.Duration })
		}
		k.WaitDone(w)
	}
	k.WaitStart(w)
	return pause
}

// finishPause reports the end of the pause, once.
func (k *call) finishPause() {
	if end := k.progress.endPause; end != nil {
		end()
	}
}

// waitReason returns the reason for the pause after the last attempt.
func (k *call) waitReason() ratelimit.Reason {
	a, plan := k.progress.last, &k.progress.plan
	if plan.Asked || a.response.StatusCode == http.StatusTooManyRequests {
		return ratelimit.ReasonRetryAfter
	}
	return ratelimit.ReasonBackoff
}
