package petstore

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/petstore/petstore-go/internal/credential"
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
