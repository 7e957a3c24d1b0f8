package petstore

import (
	"context"
	"errors"
	"reflect"
	"time"

	"github.com/petstore/petstore-go/internal/credential"
	"github.com/petstore/petstore-go/internal/deadline"
	"github.com/petstore/petstore-go/internal/quota"
	"github.com/petstore/petstore-go/internal/retry"
	"github.com/petstore/petstore-go/internal/wire"
)

// keyFreshness is the longest wait after which the key is used without a new call of
// WithAPIKeyFunc: a key that rotates may change during a wait of minutes, but hardly within a
// second.
const keyFreshness = time.Second

// gate admits the requests of one call. All waits of the call are here.
type gate struct{ *progress }

// admission allows one request.
type admission struct {
	key      credential.Key
	permit   Permit    // nil once it is released
	closures uint64    // tracer.closure.count when the request asked for the permit
	ready    time.Time // when Acquire returned
}

// release releases the permit and reports the outcome of the request. Further calls have no effect.
func (a *admission) release(o Observation) {
	if permit := a.permit; permit != nil {
		a.permit = nil
		permit.Release(o)
	}
}

// keyError says why there is no key.
type keyError struct{ error }

// errSameKey is for a call whose key the service has refused, and which has no other.
var errSameKey = errors.New("petstore: there is no other key")

// admit waits until one request may be sent. plan is that after the last attempt, reason is why it
// has a pause, and refused is the KeyID that the service has refused, or nil. After an error there is
// no permit.
func (g *gate) admit(a *admission, plan *retry.Plan, reason WaitReason, refused *string) error {
	if plan.Pause > 0 {
		if err := g.sleep(Wait{Reason: reason}, plan.Pause); err != nil {
			return err
		}
	}
	admitted := false
	defer func() {
		if !admitted { // also after a panic of the user's limiter or function
			a.release(Observation{})
		}
	}()
	for {
		if err := g.acquireForKey(a, refused); err != nil {
			return err
		}
		// The limiter may be the user's own and ignore Retry-After, or there may be no limiter.
		if quota.Passed(a.ready, plan.NotBefore) {
			break
		}
		a.release(Observation{})
		wait := plan.NotBefore.Sub(a.ready)
		if err := g.sleep(Wait{Reason: reason, Until: plan.NotBefore}, wait); err != nil {
			return err
		}
		g.waited.Add(int64(wait))
	}
	admitted = true
	g.attempts.Add(1)
	return nil
}

// acquireForKey gets the key and a permit for it, because the limiter has a budget for each key.
// After a long wait it asks for the key again. If that is another one, it gives the permit back and
// gets one for the new key, but only once: a function that returns another key each time, with a
// slow limiter, would never send a request.
func (g *gate) acquireForKey(a *admission, refused *string) error {
	if err := g.getKey(a, refused); err != nil {
		return err
	}
	asked := time.Now()
	if err := g.acquire(a, asked); err != nil || !g.core.rotates || a.ready.Sub(asked) <= keyFreshness {
		return err
	}
	before := *a.key.ID
	if err := g.getKey(a, refused); err != nil {
		return err
	}
	if *a.key.ID == before {
		a.ready = time.Now()
		return nil
	}
	a.release(Observation{})
	return g.acquire(a, time.Now())
}

func (g *gate) getKey(a *admission, refused *string) error {
	if ended := g.ended(); ended != nil {
		return ended
	}
	key, err := g.askKey()
	switch {
	case err != nil:
		return &keyError{err}
	case refused != nil && *refused == *key.ID:
		return errSameKey
	}
	a.key = key
	if g.keyID.Load() != key.ID {
		g.keyID.Store(key.ID)
		if g.core.rotates {
			g.core.used.Store(key.ID)
		}
	}
	return nil
}

// askKey returns the key of the next attempt. The function of WithAPIKeyFunc gets a context like
// the attempt's, with the attempt's timeout.
func (g *gate) askKey() (credential.Key, error) {
	if !g.core.rotates {
		return g.core.key(nil)
	}
	next := &attemptProgress{g.progress, int(g.attempts.Load()) + 1, time.Duration(g.waited.Load()), nil}
	var asking deadline.Context
	asking.Begin(&g.ctx, callKey{}, next, time.Now(), g.request.config.attemptTimeout)
	defer asking.End()
	ctx, release := g.untilStop(&asking)
	defer release()
	key, err := g.core.key(ctx)
	if err == nil {
		return key, nil
	}
	if ended := g.ended(); ended != nil {
		return key, ended
	}
	if deadline.Err(&asking) != nil && !wire.NotHTTP(err) {
		return key, &deadline.TimeoutError{After: g.request.config.attemptTimeout}
	}
	return key, wire.Foreign(err)
}

// ended returns a *deadline.EndedError if the call must not send anything more: its context has
// ended, or that of WithStop.
func (g *gate) ended() error {
	if err := g.contextEnd(); err != nil || g.core.stop.Done() == nil {
		return err
	}
	return endOf(g.core.stop)
}

// untilStop returns ctx, which WithStop also ends, and a function to call when it is not needed any
// more.
func (g *gate) untilStop(ctx context.Context) (context.Context, func()) {
	stop := g.core.stop
	if stop.Done() == nil {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	forget := context.AfterFunc(stop, func() { cancel(context.Cause(stop)) })
	return ctx, func() { forget(); cancel(nil) }
}

// acquire gets a's permit from the limiter. The time that this takes counts as waited, except the
// part that the limiter reported as free.
func (g *gate) acquire(a *admission, asked time.Time) error {
	a.closures = g.core.tracer.closure.count.Load()
	if g.core.limiter != nil {
		g.free.Store(0)
		defer g.stopWaiting() // if the limiter panics, or forgets to
		left := g.request.config.maxWait - time.Duration(g.waited.Load())
		ctx, release := g.untilStop(&g.ctx)
		defer release()
		if g.asked.IsZero() {
			g.asked = asked
		}
		r := LimitRequest{Call: g.describe(), MaxWait: max(0, left), Asked: g.asked, progress: g.progress}
		permit, err := g.core.limiter.Acquire(ctx, r)
		if err = realError(err); err != nil && permit != nil {
			permit.Release(Observation{}) // after an error, a permit must not stay reserved
		}
		if err != nil {
			g.reportRefusal(err, a.closures)
			return err
		}
		a.permit = permit
	}
	a.ready = time.Now()
	g.waited.Add(int64(max(0, a.ready.Sub(asked)-time.Duration(g.free.Load()))))
	return g.ended() // even if the permit came at the same time
}

// reportRefusal reports to the traces that the limiter has refused a request, which asked for its
// permit when the closures were so many.
func (g *gate) reportRefusal(err error, closures uint64) {
	e, ok := errors.AsType[*RateLimitError](err)
	if !ok || !g.core.tracer.on() || !e.RetryAt.After(time.Now()) || g.ended() != nil {
		return
	}
	left := e.RateLimit.Remaining
	if e.Scope == ScopeBan {
		left = -1
	}
	info := LimitInfo{Call: g.describe(), Scope: e.Scope, Until: e.RetryAt}
	g.core.tracer.limitClosed(g.ctx.Context, info, left, closures)
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
func (g *gate) sleep(w Wait, d time.Duration) error {
	end := time.Now().Add(d)
	if w.Until.IsZero() {
		w.Until = end
	}
	w.Waiting = 1
	done := g.startWait(w)
	defer done(0)
	for now := time.Now(); !quota.Passed(now, end); now = time.Now() {
		timer := time.NewTimer(deadline.Slice(end.Sub(now)))
		select {
		case <-timer.C:
		case <-g.ctx.Done():
		case <-g.core.stop.Done():
		}
		timer.Stop()
		if ended := g.ended(); ended != nil {
			return ended
		}
	}
	return g.ended()
}
