package petstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/petstore/petstore-go/internal/body"
	"github.com/petstore/petstore-go/internal/credential"
	"github.com/petstore/petstore-go/internal/retry"
	"github.com/petstore/petstore-go/internal/safetext"
	"github.com/petstore/petstore-go/ratelimit"
)

// outcome is what came of one attempt. The next attempt, and the result or the error of the call,
// depend on nothing else.
type outcome struct {
	retry.Result

	// previous is the outcome of the attempt before; nil for the first attempt.
	previous *outcome
	// refused is why nothing was passed to the transport; nil if something was.
	refused error
	key     credential.Key
	// limits is what the limiter is told of the request, such as the headers of the limit.
	limits ratelimit.Outcome
	// opens is when a 429 allows the next request; zero if that is not known. scope is the limit that
	// the 429 seems to be for.
	opens time.Time
	scope ratelimit.Reason
	// header is that of the response, without the key.
	header http.Header
	// mediaType is what is wrong with the media type of a success; empty if nothing is.
	mediaType string
	// body is the body of the response; nil without a response.
	body *body.Buffer
	// err is why there is no complete response; nil if there is one, with any status.
	err error
	// plan is what follows this attempt.
	plan retry.Plan

	// unlimited reports whether there is no limiter that waits until opens: then the loop must wait.
	unlimited bool
	tooLarge  bool // body is cut off at the limit
	// ended reports whether err says that the context of the caller has ended.
	ended bool
	// stale reports whether net/http was about to send the request again, which the client prevents.
	stale bool
	// askedAgain reports whether an earlier attempt got a 401. The client asks the function of
	// WithAPIKeyFunc only once more in a call.
	askedAgain bool
	// unknown reports whether the request was a write that the service may have carried out.
	unknown bool
}

// succeeded reports whether there is a complete response with the documented status.
func (o *outcome) succeeded() bool { return o.Success && o.err == nil && !o.tooLarge }

// unauthorized reports whether the service refused the key.
func (o *outcome) unauthorized() bool { return o.Status == http.StatusUnauthorized }

// failure returns the error of a call that ends with o; doc.go lists the types of errors. If the
// caller's context ended while the body was read, the error also matches that of the context, and
// is a *TransportError in place of a *ResponseError or *APIError.
func (k *call) failure(o *outcome) error {
	switch code := o.Status; {
	case o.refused != nil:
		return k.refusal(o)
	case o.Failure == retry.Protocol:
		return k.responseError(o, "not HTTP", o.err)
	case code == 0, o.ended && code/100 == 2:
		return k.transportError(o, o.err)
	case o.tooLarge && o.Success:
		return k.responseError(o, "body is too large; see WithMaxResponseBytes", nil)
	case o.err != nil && o.Success:
		return k.responseError(o, "body is cut off", o.err)
	case code/100 == 2:
		return k.responseError(o, "status is not the documented one", nil)
	case code == http.StatusTooManyRequests && o.ended:
		return k.rateLimitError(o, o.opens, after(o.err, k.apiError(o)))
	case code == http.StatusTooManyRequests:
		return k.rateLimitError(o, o.opens, k.apiError(o))
	case o.ended:
		return k.transportError(o, after(o.err, k.apiError(o)))
	}
	return k.apiError(o)
}

// refusal returns the error of a call whose last attempt was refused before it sent anything. It
// wraps the error of the attempt before, if there was one; after a 429, that is the *APIError.
func (k *call) refusal(o *outcome) error {
	var last error
	if o.previous != nil {
		last = k.failure(o.previous)
	}
	// The method failure returns this type itself, never an error that wraps it.
	if limited, ok := last.(*RateLimitError); ok {
		last = limited.Err
	}
	got429 := o.previous != nil && o.previous.Status == http.StatusTooManyRequests
	ended := k.endReason()
	limited, isLimit := errors.AsType[*ratelimit.Error](o.refused)
	switch {
	case o.refused == errSameKey:
		return k.failure(o.previous) // the call ends with the 401 to this key
	case errors.Is(ended, ErrStopped):
		if got429 {
			// Only its text: the call did not end because of the limit, so its error must not match
			// ErrRateLimited.
			last = errors.New(last.Error())
		}
		return k.transportError(o, after(ended, last))
	case isLimit:
		// The cause of the context may be the error of another call.
		if limited.Err != nil {
			last = after(cmp.Or(ended, foreign(limited.Err)), last)
		}
		e := k.rateLimitError(o, limited.RetryAt, last)
		e.RateLimit, e.Reason = limited.Window, limited.Reason
		return e
	case errors.Is(o.refused, ended) && got429:
		return k.rateLimitError(o.previous, o.previous.plan.NotBefore, after(ended, last))
	}
	return k.transportError(o, after(o.refused, last))
}

// apiError returns the error for a response that is not the success of the operation. The key is
// taken out of all that it has from the response.
func (k *call) apiError(o *outcome) *APIError {
	code, message := o.body.ErrorObject()
	key := o.key.Secret()
	return &APIError{
		Operation:      k.operation.name,
		CallID:         k.describe().ID,
		Code:           safetext.Redact(code, key),
		Message:        safetext.Redact(message, key),
		RetryAfter:     o.limits.RetryAfter,
		Body:           o.bodyStart(),
		Response:       k.response(o),
		OutcomeUnknown: o.unknown,
		NotRetried:     o.plan.NotRetried,
		received:       o.limits.Received,
	}
}

// responseError returns the error for a response that does not follow the document.
func (k *call) responseError(o *outcome, reason string, err error) *ResponseError {
	e := &ResponseError{
		Operation: k.operation.name, CallID: k.describe().ID, Reason: reason,
		Response: k.response(o), Err: err, OutcomeUnknown: o.unknown,
	}
	if o.body != nil {
		e.Body = o.bodyStart()
	}
	return e
}

// transportError returns the error of a call that err ended, whether during an attempt, between two
// of them or before the first.
func (k *call) transportError(o *outcome, err error) *TransportError {
	return &TransportError{
		Operation: k.operation.name, CallID: k.describe().ID, Attempts: k.sent, Err: err,
		OutcomeUnknown: o.unknown, NotRetried: o.plan.NotRetried, tries: k.info.Attempt,
	}
}

// rateLimitError returns the error of a call whose last response was a 429, or which the limiter
// refused.
func (k *call) rateLimitError(o *outcome, retryAt time.Time, err error) *RateLimitError {
	// retryAt may have passed already, for instance while a slow body was read.
	if now := time.Now(); !retryAt.IsZero() && !now.Before(retryAt) {
		retryAt = now
	}
	return &RateLimitError{
		Operation: k.operation.name, CallID: k.describe().ID, RetryAt: retryAt, RateLimit: o.limits.Window,
		Reason: o.scope, Attempts: k.sent, Err: err,
	}
}

// response returns what results and errors say about the last response of the call.
func (k *call) response(o *outcome) Response {
	return Response{o.Status, o.header, o.limits.Window, k.sent}
}

// bodyStart returns the part of the body that an error keeps.
func (o *outcome) bodyStart() []byte {
	return safetext.Head(o.body.Bytes, o.key.Secret(), maxErrorBody, o.tooLarge || o.err != nil)
}

// after returns err together with the error of the last attempt; either may be nil.
func after(err, last error) error {
	if err == nil || last == nil {
		return cmp.Or(err, last)
	}
	return fmt.Errorf("%w; last attempt: %w", err, last)
}

// callerError returns an error if the context of the call has ended during the attempt. If it ended
// by the caller's deadline, the text says so and how long there was no response, since the service
// may have been slow.
func (a *attempt) callerError() error {
	ended := a.call.contextError()
	if !errors.Is(ended, context.DeadlineExceeded) || errors.Is(ended, ErrTimeout) {
		return ended
	}
	waited := time.Since(a.ready).Round(time.Millisecond)
	return fmt.Errorf("no response after %v, at the caller's deadline: %w", waited, ended)
}

// hasEnded reports whether ctx has ended, or its deadline has passed: a connection may report the
// deadline a moment before the context's own timer fires.
func hasEnded(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ctx.Err() != nil || ok && !time.Now().Before(deadline)
}

// endGrace is the longest wait for a context whose deadline has passed: on a busy machine, timers
// fire up to some 10 ms late, and a context of another type may never end at its deadline.
const endGrace = 100 * time.Millisecond

// contextError returns an error if the context of the call has ended, else nil. The error matches
// that of the context and its cause, unless the cause is the error of another call.
func (k *call) contextError() error {
	ctx := k.ctx
	if !hasEnded(ctx) {
		return nil
	}
	select { // the cause of ctx is set only when ctx has really ended
	case <-ctx.Done():
	case <-time.After(endGrace):
	}
	err := cmp.Or(ctx.Err(), context.DeadlineExceeded)
	cause := context.Cause(ctx)
	// The timeout of a call around this one is a cause like others.
	if own, ok := cause.(*timeoutError); ok && own == k.timedOut {
		return fmt.Errorf("%w: %w", err, own)
	}
	if cause == nil || errors.Is(err, cause) {
		return err
	}
	return fmt.Errorf("%w: %w", err, foreign(cause))
}
