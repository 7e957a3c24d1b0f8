package petstore

import (
	"context"
	"errors"
	"reflect"
	"time"

	"github.com/petstore/petstore-go/internal/credential"
	"github.com/petstore/petstore-go/internal/deadline"
	"github.com/petstore/petstore-go/internal/wire"
	"github.com/petstore/petstore-go/ratelimit"
)

// keyError says why there is no key.
type keyError struct{ error }

// errSameKey is for a call whose key the service has refused, and which has no other.
var errSameKey = errors.New("petstore: there is no other key")

// admit waits until a may be sent: it gets the key, and a permit of the limiter. After an error
// there is no permit.
func (a *attempt) admit() error {
	if err := a.getKey(); err != nil {
		return err
	}
	if err := a.acquire(); err != nil {
		return err
	}
	a.call.progress.record(func(seen *Call) { seen.Attempt++ })
	return nil
}

// release releases the permit and reports the outcome of the request. Further calls have no effect.
func (a *attempt) release(o ratelimit.Outcome) {
	if permit := a.permit; permit != nil {
		a.permit = nil
		a.lockout = permit.Release(o)
	}
}

// getKey gets the key for a, which must be another one than the service has just refused.
func (a *attempt) getKey() error {
	k := a.call
	if ended := k.ended(); ended != nil {
		return ended
	}
	key, err := a.askKey()
	if err != nil {
		return err
	}
	if last := k.progress.last; last != nil && last.unauthorized() && *last.key.ID == *key.ID {
		return errSameKey
	}
	a.key = key
	k.progress.record(func(seen *Call) { seen.KeyID = *key.ID })
	k.client.used.Store(key.ID)
	return nil
}

// askKey returns the key of a. The function of WithAPIKeyFunc gets a context like the attempt's,
// with the attempt's timeout.
func (a *attempt) askKey() (credential.Key, error) {
	k := a.call
	if !k.client.rotates {
		return k.client.key(nil)
	}
	ctx, cancel := a.begin(k.waits, new(Call))
	defer cancel()
	key, err := k.client.key(ctx)
	if err == nil {
		return key, nil
	}
	if ended := k.ended(); ended != nil {
		return key, ended
	}
	if deadline.Err(ctx) != nil && !wire.NotHTTP(err) {
		return key, &keyError{k.attemptTimeout()}
	}
	return key, &keyError{foreign(err)}
}

// acquire gets a's permit from the limiter. The time that this takes counts as waited, except the
// part that the limiter reported as free.
func (a *attempt) acquire() error {
	k, asked := a.call, time.Now()
	p := &k.progress
	a.keyState = k.client.keys.of(*a.key.ID)
	if limiter := k.client.shared.config.limiter; limiter != nil {
		p.free = 0
		if p.asked.IsZero() {
			p.asked = asked
		}
		permit, err := limiter.Acquire(k.waits, ratelimit.Request{
			Key: *a.key.ID, Background: k.config.background, MaxWait: max(0, k.config.maxWait-p.seen.Waited),
			Asked: p.asked, NotBefore: p.plan.NotBefore, Observer: k,
		})
		if v := reflect.ValueOf(err); v.Kind() == reflect.Pointer && v.IsNil() {
			err = nil // a Limiter whose error has a type of its own returns that by mistake
		}
		if err != nil && permit != nil {
			permit.Release(ratelimit.Outcome{}) // after an error, a permit must not stay reserved
		}
		if err != nil {
			return err
		}
		a.permit = permit
	}
	a.ready = time.Now()
	waited := max(0, a.ready.Sub(asked)-p.free)
	p.record(func(seen *Call) { seen.Waited += waited })
	ended := k.ended()
	if ended != nil { // even if the permit came at the same time
		a.release(ratelimit.Outcome{})
	}
	return ended
}

// begin returns the context of a, which is derived from parent. seen is for CallFromContext.
func (a *attempt) begin(parent context.Context, seen *Call) (context.Context, context.CancelFunc) {
	*seen = a.call.describe()
	seen.Attempt = a.number
	ctx := context.WithValue(parent, callKey{}, seen)
	if a.call.config.attemptTimeout == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, a.call.config.attemptTimeout)
}

// attemptTimeout returns the error of an attempt that exceeded its timeout.
func (k *call) attemptTimeout() error {
	return &timeoutError{"attempt timed out after " + k.config.attemptTimeout.String()}
}
