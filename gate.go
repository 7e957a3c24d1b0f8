package petstore

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"time"

	"github.com/petstore/petstore-go/internal/credential"
	"github.com/petstore/petstore-go/internal/deadline"
	"github.com/petstore/petstore-go/internal/quota"
	"github.com/petstore/petstore-go/internal/wire"
)

// keyFreshness is the longest wait after which the key is used without a new call of
// WithAPIKeyFunc: a key that rotates may change during a wait of minutes, but hardly within a
// second.
const keyFreshness = time.Second

// admit waits until one request may be sent, and returns the attempt with its permit. All waits of
// a call are here. An error is the error of the call; the attempt then has no permit.
func (k *call) admit() (_ *attempt, err error) {
	if k.plan.pause > 0 {
		if err := k.sleep(Wait{Reason: k.plan.reason}, k.plan.pause); err != nil {
			return nil, k.endedWhileWaiting()
		}
	}
	a := k.nextAttempt()
	admitted := false
	defer func() {
		if !admitted { // also after a panic of the user's limiter or function
			a.release(Observation{})
		}
	}()
	if err := k.prepareAdmission(a); err != nil {
		return nil, err
	}
	if err := k.acquireForKey(a); err != nil {
		return nil, err
	}
	// The limiter may be the user's own and ignore Retry-After, or there may be no limiter.
	for !quota.Over(a.ready, k.plan.notBefore) {
		a.release(Observation{})
		wait := k.plan.notBefore.Sub(a.ready)
		if err := k.sleep(Wait{Reason: k.rateLimitReason(), Until: k.plan.notBefore}, wait); err != nil {
			return nil, k.refusal(a, err)
		}
		k.waited.Add(int64(wait))
		if err := k.prepareAdmission(a); err != nil {
			return nil, err
		}
		if err := k.acquireForKey(a); err != nil {
			return nil, err
		}
	}
	admitted = true
	k.attempts.Add(1)
	return a, nil
}

// acquireForKey gets a's permit. After a long wait it asks for the key again. If that is another
// one, it gives the permit back and gets one for the new key, but only once: a function that
// returns another key each time, with a slow limiter, would never send a request.
func (k *call) acquireForKey(a *attempt) error {
	asked := time.Now()
	if err := k.acquire(a, asked); err != nil {
		return k.refusal(a, err)
	}
	if !k.client.rotates || a.ready.Sub(asked) <= keyFreshness {
		return nil
	}
	before := *a.key.ID
	if err := k.prepareAdmission(a); err != nil {
		return err
	}
	if *a.key.ID == before {
		a.ready = time.Now()
		return nil
	}
	a.release(Observation{})
	if err := k.acquire(a, time.Now()); err != nil {
		return k.refusal(a, err)
	}
	return nil
}

// nextAttempt returns the attempt that follows the last one.
func (k *call) nextAttempt() *attempt {
	a := &k.first
	if k.last != nil {
		a = new(attempt)
	}
	a.call = k
	a.number = int(k.attempts.Load()) + 1
	return a
}

// prepareAdmission gets the key for a, because the limiter has a budget for each key.
func (k *call) prepareAdmission(a *attempt) error {
	if ended := k.ended(); ended != nil {
		return k.refusal(a, ended)
	}
	key, err := k.askKey(a.number)
	if err != nil {
		k.attempts.Add(1)
		a.failed(err, wire.Permanent)
		k.last = a
		k.plan = plan{}
		return a.outcome()
	}
	if last := k.last; last != nil && last.statusCode == http.StatusUnauthorized && *last.key.ID == *key.ID {
		return last.outcome() // the service has refused this key; there is no other
	}
	a.key = key
	if k.keyID.Load() != key.ID {
		k.keyID.Store(key.ID)
	}
	return nil
}

// askKey returns the key of the next attempt. The function of WithAPIKeyFunc gets a context like
// the attempt's, with the attempt's timeout.
func (k *call) askKey(number int) (credential.Key, error) {
	if !k.client.rotates {
		return k.client.key(nil)
	}
	asking := &attempt{call: k, number: number, waited: time.Duration(k.waited.Load())}
	asking.begin(time.Now())
	defer asking.context.End()
	ctx, release := k.untilStop(&asking.context)
	defer release()
	key, err := k.client.key(ctx)
	if err == nil {
		return key, nil
	}
	if ended := k.ended(); ended != nil {
		return key, ended
	}
	return key, k.attribute(asking, err)
}

// ended returns an *endedError if the call must not send anything more: its context has ended, or
// that of WithStop.
func (k *call) ended() error {
	if err := endOf(k.ctx.Context); err != nil || k.client.stop == nil {
		return err
	}
	return endOf(k.client.stop)
}

// stopped returns the channel that the end of WithStop closes; nil without one.
func (c *Client) stopped() <-chan struct{} {
	if c.stop == nil {
		return nil
	}
	return c.stop.Done()
}

// untilStop returns ctx, which WithStop also ends, and a function to call when it is not needed any
// more.
func (k *call) untilStop(ctx context.Context) (context.Context, func()) {
	stop := k.client.stop
	if stop == nil {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	forget := context.AfterFunc(stop, func() { cancel(context.Cause(stop)) })
	return ctx, func() { forget(); cancel(nil) }
}

// acquire gets a's permit from the limiter. The time that this takes counts as waited, except the
// part that the limiter reported through StartWait as free.
func (k *call) acquire(a *attempt, asked time.Time) error {
	a.closures = k.client.closure.count.Load()
	if k.client.limiter != nil {
		k.free.Store(0)
		defer k.stopWaiting() // if the limiter panics, or forgets to
		left := k.config.maxWait - time.Duration(k.waited.Load())
		ctx, release := k.untilStop(&k.ctx)
		defer release()
		permit, err := k.client.limiter.Acquire(ctx, max(0, left))
		if err = realError(err); err != nil && permit != nil {
			permit.Release(Observation{}) // after an error, a permit must not stay reserved
		}
		if err != nil {
			return err
		}
		a.permit = permit
	}
	a.ready = time.Now()
	k.waited.Add(int64(max(0, a.ready.Sub(asked)-time.Duration(k.free.Load()))))
	a.waited = time.Duration(k.waited.Load())
	return k.ended() // even if the permit came at the same time
}

// realError returns err, or nil if err holds a nil pointer: a Limiter that declares its error as a
// *RateLimitError returns such a value by mistake.
func realError(err error) error {
	if err == nil {
		return nil
	}
	if v := reflect.ValueOf(err); v.Kind() == reflect.Pointer && v.IsNil() {
		return nil
	}
	return err
}

// sleep waits for d by the monotonic or the wall clock. It returns an error if the context has
// ended.
func (k *call) sleep(w Wait, d time.Duration) error {
	end := time.Now().Add(d)
	if w.Until.IsZero() {
		w.Until = end
	}
	w.Waiting = 1
	done := k.startWait(w)
	defer done(0)
	for now := time.Now(); !quota.Over(now, end); now = time.Now() {
		timer := time.NewTimer(deadline.Slice(end.Sub(now)))
		select {
		case <-timer.C:
		case <-k.ctx.Done():
			timer.Stop()
			return k.ended()
		case <-k.client.stopped():
			timer.Stop()
			return k.ended()
		}
	}
	return k.ended()
}

// rateLimitReason returns the reason for the wait until plan.notBefore.
func (k *call) rateLimitReason() WaitReason {
	if scope := k.last.scope(); scope != "" {
		return WaitReason(scope)
	}
	return WaitRetryAfter
}

// refusal returns the error of the call after err, because of which a was not sent.
func (k *call) refusal(a *attempt, err error) error {
	if limited, ok := errors.AsType[*RateLimitError](err); ok && limited != nil {
		e := *limited
		e.Operation = k.operation.name
		e.Attempts = int(k.attempts.Load())
		e.Local = !k.sent
		e.Err = k.withLast(e.Err)
		if e.RetryAt.After(time.Now()) && k.ended() == nil {
			left := e.RateLimit.Remaining
			if e.Scope == ScopeBan {
				left = -1
			}
			k.gateClosed(a, e.Scope, e.RetryAt, left)
		}
		return &e
	}
	if k.ended() != nil {
		return k.endedWhileWaiting()
	}
	return k.transportError(k.withLast(err))
}
