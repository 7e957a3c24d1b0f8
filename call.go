package petstore

import (
	"context"
	"net/http"
	"time"

	"github.com/petstore/petstore-go/internal/credential"
	"github.com/petstore/petstore-go/ratelimit"
)

// operation is an operation of the service (section 4), or a request of Do. Operations differ only
// in the values of these fields: no other code asks which operation it has.
type operation struct {
	// name is the operationId of the document or, for Do, "do " and the method.
	name     string
	method   string
	template string // path template below the base URL
	// success is the documented status of a success; 0 for any 2xx.
	success int
	// doubt is the note in an error if the outcome is unknown: "the pet may have been created".
	doubt string
	// removal is the date from which the service no longer has the operation; empty if it stays.
	// instead is the operation to use in its place.
	removal, instead string
}

// isWrite reports whether the request may change something, and so must not be carried out twice.
func (o *operation) isWrite() bool { return o.method != http.MethodGet }

// expects reports whether code is the documented status of a success.
func (o *operation) expects(code int) bool {
	return code == o.success || o.success == 0 && code/100 == 2
}

// request is the request that a method makes, without the key.
type request struct {
	*operation
	path, query string // of the URL, below the base URL, escaped
	body        []byte // nil for none
	// decode decodes the body of a success, and keeps the result; nil if nobody wants the result.
	decode func(body []byte) error
}

// call is one use of a method of Client, on one goroutine. It is the http.RoundTripper of its own
// retry loop (loop.go): each RoundTrip makes one attempt (send.go). After each attempt, checkRetry
// decides whether another one follows (retry.go).
type call struct {
	request
	tracer
	client      *Client
	config      *config // of the client, with the options of the call; only read
	stoppable   context.Context
	httpRequest *http.Request // of the loop; each attempt sends a clone
	started     time.Time
	maxWait     time.Duration // what is left of WithMaxWait

	requestsSent int             // requests that may have been written
	last         *attempt        // nil before the first
	previous     *attempt        // the one before `last`; nil before the second
	pause        *ratelimit.Wait // before the next attempt; nil if none is planned
	pauseBegun   time.Time
}

// attempt is the record of one attempt. RoundTrip fills it; nothing changes it afterwards. From it
// come the decision about another attempt, and the result or the error of the call.
type attempt struct {
	key        credential.Key
	permit     ratelimit.Permit // nil once it is released, and without a limiter
	connection connectionState
	outcome    ratelimit.Outcome // of the request, for the limiter: the status and the times, for example
	lockout    ratelimit.Lockout // of the key, as the limiter reported it after the request
	header     http.Header       // of the response, without the key
	body       []byte            // of the response, or its start
	failure    failure
	err        error // why there is no whole response; nil if there is one

	mayBeWritten   bool // the request may have been written
	expectedStatus bool // the status is the documented one of a success
}

// succeeded reports whether there is a whole response with the documented status.
func (a *attempt) succeeded() bool { return a.expectedStatus && a.failure == noFailure }

// was reports whether the attempt got a response with this status. a may be nil.
func (a *attempt) was(status int) bool { return a != nil && a.outcome.StatusCode == status }

// limiterWaits reports, for an attempt that got a 429, whether the limiter delays the next attempt.
// If the limiter does not, the retry loop must wait.
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
