package petstore

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"time"
)

// plan is what follows an attempt.
type plan struct {
	again     bool
	pause     time.Duration // before the next attempt, for the service's sake
	reason    WaitReason    // of pause
	notBefore time.Time     // of the next attempt, for the rate limit's sake
	tooLong   bool          // there is none, since what a 503 asks for does not fit
}

// keyFreshness is how long a key is good for while the call waits: WithAPIKeyFunc is asked again after it.
const keyFreshness = time.Second

// admit waits until one request may be sent, and returns the attempt that has its permit. This is the one place
// where a call waits. The error is that of the call; then there is no permit.
func (k *call) admit() (*attempt, error) {
	if k.plan.pause > 0 {
		if err := k.sleep(Wait{Reason: k.plan.reason}, k.plan.pause); err != nil {
			return nil, k.endedWhileWaiting()
		}
	}
	a := k.nextAttempt()
	for {
		if err := k.prepareAdmission(a); err != nil {
			return nil, err
		}
		asked := time.Now()
		if err := k.acquire(a, asked); err != nil {
			return nil, k.refusal(err)
		}
		switch {
		case k.client.rotates && a.ready.Sub(asked) > keyFreshness:
			a.release(Observation{}) // the key may have changed, and with it the budget
		case over(k.plan.notBefore, a.ready):
			k.attempts.Add(1)
			return a, nil
		default:
			// A limiter of the user's may not know Retry-After, and without a limiter nobody else waits.
			a.release(Observation{})
			wait := k.plan.notBefore.Sub(a.ready)
			if err := k.sleep(Wait{Reason: k.rateLimitReason(), Until: k.plan.notBefore}, wait); err != nil {
				return nil, k.refusal(err)
			}
			k.waited.Add(int64(wait))
		}
	}
}

// nextAttempt is the attempt after those that were begun.
func (k *call) nextAttempt() *attempt {
	a := &k.first
	if k.last != nil {
		a = new(attempt)
	}
	a.context.call, a.context.attempt = k, a
	a.number = int(k.attempts.Load()) + 1
	return a
}

// prepareAdmission gets the key for a, so that the limiter knows whose budget is asked for.
func (k *call) prepareAdmission(a *attempt) error {
	if ended := endOf(k.ctx.Context); ended != nil {
		return k.refusal(ended)
	}
	key, err := k.askKey(a.number)
	if err != nil {
		k.attempts.Add(1)
		a.failed(err, failurePermanent)
		k.last = a
		k.plan = plan{}
		return a.outcome()
	}
	if last := k.last; last != nil && last.statusCode == http.StatusUnauthorized && *last.key.id == *key.id {
		return last.outcome() // there is no other key
	}
	a.key = key
	if k.keyID.Load() != key.id {
		k.keyID.Store(key.id)
	}
	return nil
}

// askKey returns the key of the next attempt. A function that gives it gets a context like the attempt's, with
// the attempt's timeout.
func (k *call) askKey(number int) (apiKey, error) {
	if !k.client.rotates {
		return k.client.key(nil)
	}
	asking := &attempt{number: number, waited: time.Duration(k.waited.Load())}
	asking.context.call, asking.context.attempt = k, asking
	asking.context.begin(time.Now())
	defer asking.context.end()
	key, err := k.client.key(&asking.context)
	if err != nil {
		return key, k.attribute(asking, err)
	}
	return key, nil
}

// acquire asks the limiter for a's permit. What it takes counts as waited, but for what the limiter reports
// as free.
func (k *call) acquire(a *attempt, asked time.Time) error {
	if k.client.limiter != nil {
		k.free.Store(0)
		left := k.config.maxWait - time.Duration(k.waited.Load())
		permit, err := k.client.limiter.Acquire(&k.ctx, max(0, left))
		if err = realError(err); err != nil && permit != nil {
			permit.Release(Observation{}) // a permit that came with an error is not used
		}
		if err != nil {
			return err
		}
		a.permit = permit
	}
	a.ready = time.Now()
	k.waited.Add(int64(max(0, a.ready.Sub(asked)-time.Duration(k.free.Load()))))
	a.waited = time.Duration(k.waited.Load())
	if ended := endOf(k.ctx.Context); ended != nil { // also if the permit came at the same instant
		a.release(Observation{})
		return ended
	}
	return nil
}

// realError is err, or nil if it is a nil pointer in an interface, as a careless Limiter may return it.
func realError(err error) error {
	if err == nil {
		return nil
	}
	if v := reflect.ValueOf(err); v.Kind() == reflect.Pointer && v.IsNil() {
		return nil
	}
	return err
}

// slice is how long a wait of d goes on before it looks at the wall clock again: while a machine is suspended timers
// stand still. Ten seconds late is soon enough, and for a wait of hours a 64th of it: each look costs a wake-up.
func slice(d time.Duration) time.Duration { return min(d, max(10*time.Second, d/64)) }

// sleep waits for d, or until the wall clock says that it is over. After the end of the context it never
// returns nil.
func (k *call) sleep(w Wait, d time.Duration) error {
	end := time.Now().Add(d)
	if w.Until.IsZero() {
		w.Until = end
	}
	w.Waiting = 1
	done := k.startWait(w)
	defer done(0)
	for now := time.Now(); !over(end, now); now = time.Now() {
		timer := time.NewTimer(slice(end.Sub(now)))
		select {
		case <-timer.C:
		case <-k.ctx.Done():
			timer.Stop()
			return endOf(k.ctx.Context)
		}
	}
	return endOf(k.ctx.Context)
}

// rateLimitReason is why the next attempt waits for plan.notBefore.
func (k *call) rateLimitReason() WaitReason {
	if scope := k.last.scope(); scope != "" {
		return WaitReason(scope)
	}
	return WaitRetryAfter
}

// refusal makes err, which kept a request from being sent, the error of the call.
func (k *call) refusal(err error) error {
	if limited, ok := errors.AsType[*RateLimitError](err); ok && limited != nil {
		e := *limited
		e.Operation = k.operation.name
		e.Attempts = int(k.attempts.Load())
		e.Local = e.Attempts == 0
		e.Err = k.withLast(e.Err)
		if e.RetryAt.After(time.Now()) && endOf(k.ctx.Context) == nil {
			k.gateClosed(e.Scope, e.RetryAt)
		}
		return &e
	}
	if endOf(k.ctx.Context) != nil {
		return k.endedWhileWaiting()
	}
	return k.transportError(k.withLast(err))
}

// A ticket is a call's number in the queue of one limiter.
type ticket struct {
	limiter Limiter
	number  uint64
	next    *ticket // in that of another limiter
}

// Ticket returns the number of the call of ctx in the queue of l: what issue returned when Ticket was first called
// for this call and l, so that a call keeps its place over its retries. The tickets of two limiters do not mix. l must
// be comparable, as pointers are. Without a call in ctx it returns issue().
//
// A [Limiter] uses it in Acquire to serve callers in the order in which they came. It may be called at any time during
// that, also from several goroutines; issue is called under a lock of the call.
func Ticket(ctx context.Context, l Limiter, issue func() uint64) uint64 {
	k := callOf(ctx)
	if k == nil {
		return issue()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ticket.limiter == nil {
		k.ticket = ticket{l, issue(), nil}
	}
	for t := &k.ticket; ; t = t.next {
		if t.limiter == l {
			return t.number
		}
		if t.next == nil {
			t.next = &ticket{l, issue(), nil}
		}
	}
}
