package petstore

import (
	"cmp"
	"errors"
	"net/http"
	"time"

	"github.com/petstore/petstore-go/internal/credential"
	"github.com/petstore/petstore-go/ratelimit"
)

// attempt is what came of one attempt. RoundTrip fills it; nothing changes it afterwards. The
// decision about the next attempt, and the result or the error of the call, need nothing else.
type attempt struct {
	key        credential.Key
	permit     ratelimit.Permit // until it is released; nil without a limiter
	connection connectionState
	outcome    ratelimit.Outcome // of the request, for the limiter: the status and the times, for example
	lockout    ratelimit.Lockout // of the key, as the limiter reported it after the request
	header     http.Header       // of the response, without the key
	body       []byte            // of the response, or its start
	failure    failure
	err        error // why there is no whole response; nil if there is one

	mayBeWritten   bool // the request may have been written
	expectedStatus bool // the status is the documented one
}

// succeeded reports whether there is a whole response with the documented status.
func (a *attempt) succeeded() bool { return a.expectedStatus && a.failure == noFailure }

// was reports whether there is a response with that status; a may be nil.
func (a *attempt) was(status int) bool { return a != nil && a.outcome.StatusCode == status }

// limiterWaits reports whether the limiter delays the attempt after a 429. Otherwise the loop must.
func (a *attempt) limiterWaits() bool { return a.lockout.Until.After(a.outcome.Received) }

// retryAt returns when the limiter or a 429 allows the next request; zero if that is not known.
func (a *attempt) retryAt() time.Time {
	switch {
	case !a.was(http.StatusTooManyRequests), a.limiterWaits():
		return a.lockout.Until
	case a.outcome.RetryAfter > 0:
		return a.outcome.Received.Add(a.outcome.RetryAfter)
	}
	return time.Time{}
}

// RoundTrip makes one attempt: key, permit, request, whole response. It implements
// [http.RoundTripper] for the loop of the call, whose request is bare: without header and body. The
// response that RoundTrip returns is always empty, since checkRetry looks at the attempt.
func (k *call) RoundTrip(bare *http.Request) (*http.Response, error) {
	k.endPause()
	a := &attempt{}
	k.previous, k.last, k.info.Attempt = k.last, a, k.info.Attempt+1
	k.client.transport.closeSuspects()
	err := k.admit(a)
	if err != nil {
		a.failure, a.err = notAdmitted, err
	} else {
		k.send(bare, a)
	}
	return &http.Response{Body: http.NoBody}, nil
}

var errSameKey = errors.New("petstore: after a 401 there is no other key")

// admit gets the key and a permit for it. If that took a while, it asks for the key again; another
// key needs a permit of its own.
func (k *call) admit(a *attempt) error {
	const negligible = 10 * time.Millisecond // of a wait: even on a busy machine, a free permit takes less
	key, err := k.key()
	for err == nil && key.ID != a.key.ID {
		a.release()
		if k.previous.was(http.StatusUnauthorized) && k.previous.key.ID == key.ID {
			return errSameKey
		}
		a.key, k.info.KeyID = key, key.ID
		k.client.lastKeyID.Store(key.ID)
		begun := time.Now()
		a.permit, err = k.acquire()
		waited := time.Since(begun)
		k.maxWait -= waited
		switch {
		case err != nil:
			return err
		case waited < negligible:
			err = k.endReason(k.stoppable)
		default:
			key, err = k.key()
		}
	}
	if err != nil {
		a.release()
	}
	return err
}

// key returns the key for the next request, or why there must not be one. The function of
// WithAPIKeyFunc has as much time as an attempt.
func (k *call) key() (credential.Key, error) {
	if err := k.endReason(k.stoppable); err != nil || k.config.keyFunc == nil {
		return k.client.key, err
	}
	ctx, cancel := k.withTimeout(k.stoppable)
	defer cancel()
	key, err := credential.From(k.describe(ctx), k.config.keyFunc)
	if err == nil {
		return key, nil
	}
	err = foreign(err)
	if ctx.Err() != nil {
		err = &timeoutError{"attempt", k.timeout()}
	}
	return key, cmp.Or(k.endReason(k.stoppable), error(&keyError{err}))
}

// keyError is the reason why there is no API key; it matches ErrAPIKey.
type keyError struct{ error }

func (e *keyError) Is(target error) bool { return target == ErrAPIKey }
func (e *keyError) Unwrap() error        { return e.error }
