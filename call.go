package petstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/petstore/petstore-go/internal/credential"
	"github.com/petstore/petstore-go/internal/wire"
	"github.com/petstore/petstore-go/ratelimit"
)

// operation is an operation of the service (section 4), or a request of Do. All that differs
// between operations is in its values, so that no other code asks which operation it has.
type operation struct {
	// name is the operationId of the document or, for Do, "do " and the method.
	name     string
	method   string
	template string // path template below the base URL
	// success is the documented status of a success; 0 for any 2xx.
	success int
	// doubt is what an error says may have happened if the outcome of a write is unknown.
	doubt string
	// removal is the date from which the service no longer has the operation; empty if it stays.
	// instead is the operation to use in its place.
	removal, instead string
}

// isWrite reports whether a request may change something, and so must not be repeated.
func (o *operation) isWrite() bool { return o.method != http.MethodGet }

// expects reports whether code is the documented status of a success.
func (o *operation) expects(code int) bool {
	return code == o.success || o.success == 0 && code/100 == 2
}

// request is what a method asks for.
type request struct {
	*operation
	path, query string // of the URL, below the base URL, escaped
	body        []byte // nil for none
	// into decodes the body of a success, and keeps the result; nil if that is not wanted.
	into interface{ decode(body []byte) error }
}

// call is one call of a method, on one goroutine. It is the transport of its own retry loop: each
// RoundTrip, the first one too, is one attempt (send.go), after which checkRetry decides whether
// there is another one (retry.go).
type call struct {
	request
	tracer
	client    *Client
	config    *config // of the client, with the options of the call; only read
	stoppable context.Context
	url       *url.URL
	started   time.Time
	maxWait   time.Duration // the rest of WithMaxWait

	requestsSent int             // requests that may have been written
	last         *attempt        // nil before the first
	previous     *attempt        // the one before `last`; nil before the second
	pause        *ratelimit.Wait // before the next attempt; nil if none is planned
	pauseBegun   time.Time
}

// attempt is the record of one attempt. RoundTrip fills it; nothing changes it afterwards. The
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

// limiterWaits reports whether the limiter delays the next attempt, if this one got a 429. If not,
// the loop must.
func (a *attempt) limiterWaits() bool { return a.lockout.Until.After(a.outcome.Received) }

// retryAt returns when the limiter or a 429 allows the next request; zero if that is not known.
func (a *attempt) retryAt() time.Time {
	if !a.was(http.StatusTooManyRequests) || a.limiterWaits() {
		return a.lockout.Until
	}
	if a.outcome.RetryAfter == 0 {
		return time.Time{}
	}
	return a.outcome.Received.Add(a.outcome.RetryAfter)
}

// response returns what results and errors say about the last response of the call.
func (k *call) response(a *attempt) Response {
	return Response{
		StatusCode: a.outcome.StatusCode, Header: a.header, RateLimit: a.outcome.Window, Attempts: k.requestsSent,
	}
}

// failure is why an attempt has no whole response.
type failure uint8

const (
	noFailure        failure = iota
	notAdmitted              // nothing was passed to the transport: no key, no permit, or the context had ended
	contextEnded             // the context of the call has ended
	connectionFailed         // the connection broke, or there was none: another attempt may succeed
	permanent                // another attempt would fail in the same way
	notHTTP                  // the response is not HTTP
	bodyTooLarge             // the body is larger than maxBody
)

// connectionState is what net/http reports about the connection of a request.
type connectionState struct{ asked, got, reused, answered atomic.Bool }

func (s *connectionState) hooks() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GetConn: func(string) { s.asked.Store(true) },
		GotConn: func(info httptrace.GotConnInfo) {
			// The connection of httputil.DumpRequestOut has no address: nothing is sent on it.
			isReal := info.Conn == nil || info.Conn.RemoteAddr() != nil
			s.asked.Store(isReal)
			s.got.Store(isReal || s.got.Load())
			s.reused.Store(info.Reused)
		},
		GotFirstResponseByte: func() { s.answered.Store(true) },
	}
}

// mayBeWritten reports whether a request may have been written although the transport returned err.
// It may if the transport got a connection. If the transport asked for none, it is not one of
// net/http: then only the error can say that nothing was written.
func (s *connectionState) mayBeWritten(err error) bool {
	switch {
	case wire.IsUnprocessed(err):
		return false
	case s.got.Load() || s.asked.Load():
		return s.got.Load()
	}
	return !errors.Is(err, ErrNotSent) && !wire.IsDial(err)
}

// isDead reports whether nothing came back on a connection that had been used before.
func (s *connectionState) isDead() bool { return s.reused.Load() && !s.answered.Load() }

// endReason returns why a context of the call has ended; nil if it has not. If another call around
// this one timed out, that is the caller's cause, not a timeout of this call.
func (k *call) endReason(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	own, ok := cause.(*endError)
	switch {
	case ok && own.callID == k.info.ID:
		return own.error
	case err == nil || errors.Is(err, cause):
		return err
	case isOfCall(cause):
		return fmt.Errorf("%w: %v", err, cause)
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// endError is the cause with which a timeout or WithStop ends a context of a call. For that call,
// endReason returns the error inside. endError has no Unwrap: in an error of another call it must
// match nothing.
type endError struct {
	error
	callID string
}

// wrappable takes an error of the user's function, transport or limiter, and returns what an error
// of the call may wrap. If the error is about another call, or about a context that has ended, only
// its text is kept, and whether it is a timeout: the context need not be that of the call. The
// timeouts of package net match [context.DeadlineExceeded], too.
func wrappable(err error) error {
	if err == nil || !isOfCall(err) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if network, ok := errors.AsType[net.Error](err); ok && network.Timeout() {
		return foreignTimeout(err.Error())
	}
	return errors.New(err.Error())
}

// foreignTimeout is the text of a timeout that no option of the call has set. It is a [net.Error].
type foreignTimeout string

func (e foreignTimeout) Error() string { return string(e) }
func (foreignTimeout) Timeout() bool   { return true }
func (foreignTimeout) Temporary() bool { return true }

// isOfCall reports whether err is one of the five errors of a call. If such an error is the cause
// of a context, it is about another call: an errgroup, for instance, cancels the other calls with
// the error of the first one that failed.
func isOfCall(err error) bool {
	_, ok := errors.AsType[callError](err)
	return ok
}

// timeoutError is the [net.Error] of an attempt or a call that took longer than an option allows.
type timeoutError struct {
	what  string // attempt or call
	limit time.Duration
}

func (e *timeoutError) Error() string        { return e.what + " timed out after " + e.limit.String() }
func (e *timeoutError) Is(target error) bool { return target == ErrTimeout }
func (e *timeoutError) Timeout() bool        { return true }
func (e *timeoutError) Temporary() bool      { return true }

// keyError is the reason why there is no API key; it matches ErrAPIKey.
type keyError struct{ error }

func (e *keyError) Is(target error) bool { return target == ErrAPIKey }
func (e *keyError) Unwrap() error        { return e.error }

var errSameKey = errors.New("petstore: after a 401 there is no other key")
