package petstore

import (
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/petstore/petstore-go/internal/body"
	"github.com/petstore/petstore-go/internal/deadline"
	"github.com/petstore/petstore-go/internal/headers"
	"github.com/petstore/petstore-go/internal/redact"
	"github.com/petstore/petstore-go/internal/retry"
	"github.com/petstore/petstore-go/internal/wire"
)

// attempt is one request of a call, with its permit and its response.
type attempt struct {
	*outgoing
	admission

	raw      *http.Response // the response of the transport
	header   http.Header    // without the key
	response Observation
	buffer   *body.Buffer
	body     []byte        // in buffer
	tooLarge bool          // body is cut off at the limit
	sent     bool          // the request may have been written
	failure  retry.Failure // the kind of err
	err      error         // why there is no complete response
}

// outgoing has the parts of an attempt that a transport or a function of the user may keep. They are
// set before the request is sent, because other goroutines may read them then, for instance a dialer
// of the transport that calls CallFromContext.
type outgoing struct {
	attemptProgress
	context deadline.Context
	message http.Request
	wire    wire.Record
}

// errPanicked is the error in CallDoneInfo and AttemptDoneInfo after a panic.
var errPanicked = errors.New("petstore: the call panicked")

// send sends the request and reads the response into a.
func (a *attempt) send(cookies http.Header) {
	a.hadWaited, a.usedKey = time.Duration(a.waited.Load()), a.key.ID
	a.context.Begin(&a.ctx, callKey{}, &a.attemptProgress, a.ready, a.request.config.attemptTimeout)
	defer a.context.End()
	a.exchange(cookies)
	a.reportLimit()
}

// exchange is send without the report about the rate limit.
func (a *attempt) exchange(cookies http.Header) {
	defer a.reportDone()
	a.err = errPanicked               // for the trace, if a function of the user panics
	resp, err := a.roundTrip(cookies) //nolint:bodyclose // readBody closes it
	if err == nil {
		err = a.readBody(resp)
	}
	key := a.secret()
	a.header = redact.Header(a.header, key) // a copy: the transport may share it with other requests
	a.err = nil
	if err != nil {
		a.fail(err, key)
	}
}

// roundTrip sends the request and returns the response. It releases the permit when it has the
// response's header, so that the next waiter need not wait for the body.
func (a *attempt) roundTrip(cookies http.Header) (*http.Response, error) {
	var observation Observation               // not tried
	defer func() { a.release(observation) }() // deferred, since a trace or the transport may panic
	if tracer := &a.core.tracer; tracer.on() {
		tracer.attemptStart(a.ctx.Context, a.describe())
	}
	a.prepare(cookies)
	observation = Observation{Delivery: DeliveryNoResponse, Sent: a.ready}
	resp, err := wire.CheckResponse(a.core.transport(&a.message))
	a.sent = a.wire.MayHaveSent(err)
	if err == nil {
		a.observe(resp)
		observation = a.response
		return resp, nil
	}
	observation.NotDone = !a.sent || a.wire.Unprocessed(err)
	switch ended := deadline.Err(a.ctx.Context) != nil; {
	case a.sent:
		observation.Abandoned = ended
	case ended:
		observation = Observation{} // this shows nothing about the service
	default:
		observation.Delivery, observation.Received = DeliveryNotSent, time.Now()
	}
	return nil, err
}

// prepare builds the request without http.NewRequest, which would parse and check its parts again.
func (a *attempt) prepare(cookies http.Header) {
	m := a.request.message(a.requestHeader(cookies))
	m.Host = m.URL.Host
	http1 := a.core.http1.Load()
	a.wire.SetBody(&a.core.sends, &m, a.request.body, a.request.repeatable, http1)
	a.message = *m.WithContext(a.wire.Watch(&a.context, http1))
}

// requestHeader returns the header of the request. Requests share the values of headers. The
// capacity of each value is its length, so that appending to a value of one request does not change
// another.
func (a *attempt) requestHeader(cookies http.Header) http.Header {
	h := maps.Clone(a.core.headers) // faster than filling a new map
	if len(cookies) > 0 {
		maps.Copy(h, cookies)
	}
	if own := a.request.config.header; len(own) > 0 {
		maps.Copy(h, own)
	}
	h["Authorization"] = a.key.Header()
	if a.request.body != nil {
		h["Content-Type"] = h["Accept"]
	}
	return h
}

// observe records the status and the headers of the response.
func (a *attempt) observe(resp *http.Response) {
	now := time.Now()
	date := a.core.dates.Parse(resp.Header)
	a.raw, a.header = resp, resp.Header
	a.response = Observation{
		Delivery:   DeliveryAnswered,
		Sent:       a.ready,
		Received:   now,
		StatusCode: resp.StatusCode,
		RateLimit:  RateLimit(headers.RateLimit(resp.Header)),
		RetryAfter: headers.RetryAfter(resp.Header, date, now),
		Date:       date,
		NotDone:    !retry.Status(resp.StatusCode).Done,
	}
	a.core.sawResponse(resp.ProtoMajor, a.response.RateLimit)
}

// drainBytes is how much of a body past its limit is read and dropped. net/http can use a
// connection again only if its body was read to the end; a new connection costs less than reading
// 64 KiB more.
const drainBytes = 64 << 10

// readBody reads the body up to its limit and closes it.
func (a *attempt) readBody(resp *http.Response) (err error) {
	defer func() { _ = resp.Body.Close() }() // after a complete read, Close cannot report a lost byte
	if a.buffer == nil {                     // taken late, so that calls that wait for a response hold no buffer
		a.buffer = a.core.buffers.Get()
	}
	a.tooLarge, err = a.buffer.Fill(resp.Body, resp.ContentLength, a.core.maxResponseBytes)
	a.body = a.buffer.Bytes
	if a.tooLarge {
		_, _ = io.CopyN(io.Discard, resp.Body, drainBytes)
	}
	return err
}

// fail records the error of the transport, or of reading the body, without the key.
func (a *attempt) fail(err error, key string) {
	ended := a.contextEnd()
	if a.err = ended; ended == nil {
		a.err = a.cause(err)
	}
	a.failure = retry.Connection
	if a.response.StatusCode == 0 { // else the error has cut off the body
		a.failure = a.wire.KindOf(a.err, &a.message, a.sent)
	}
	if ended == nil {
		a.err = redact.Error(a.err, key)
	}
}

// cause returns err, or what is known about its reason: net/http, or the timeout of the attempt and
// not another one, such as a dialer's.
func (a *attempt) cause(err error) error {
	switch {
	case a.wire.Repeated():
		return wire.ErrNotRepeated
	case a.wire.Unprocessed(err):
		return wire.ErrUnprocessed
	// If the server does not speak HTTP, another attempt does not help, however late the response
	// was.
	case deadline.Err(&a.context) != nil && !wire.NotHTTP(err):
		return &deadline.TimeoutError{After: a.request.config.attemptTimeout}
	}
	return wire.Cause(err)
}

// result returns what decides about another attempt.
func (a *attempt) result() retry.Result {
	code := a.response.StatusCode
	return retry.Result{Sent: a.sent, Status: code, Success: a.request.succeeds(code), Failure: a.failure}
}

// succeeded reports whether there is a complete response with the documented status.
func (a *attempt) succeeded() bool { return a.err == nil && a.request.succeeds(a.response.StatusCode) }

// plan returns the plan after a.
func (a *attempt) plan() retry.Plan {
	config := a.request.config
	facts := retry.Facts{
		Result:     a.result(),
		Repeatable: a.request.repeatable,
		NewKey:     a.core.rotates && !a.keyRefused.Load(),
		Number:     a.number,
		Policy:     config.retry,
		RetryAfter: a.response.RetryAfter,
		Unlimited:  a.core.limiter == nil,
		Now:        time.Now(),
		MaxWait:    config.maxWait - time.Duration(a.waited.Load()),
		Random:     rand.Int64N,
	}
	facts.Deadline, _ = a.ctx.Deadline()
	if facts.Status == http.StatusTooManyRequests {
		facts.OpensAt = opensAt(a.response)
	}
	p := retry.Decide(&facts)
	if p.Again && facts.Status == http.StatusUnauthorized {
		a.keyRefused.Store(true) // admit ends the call if the key is the same
	}
	return p
}

// waitReason returns the reason for the wait of the plan after a, which is nil before the first.
func (a *attempt) waitReason(p *retry.Plan) WaitReason {
	switch {
	case !p.NotBefore.IsZero() && a.scope() != "":
		return WaitReason(a.scope())
	case !p.NotBefore.IsZero(), p.Asked:
		return WaitRetryAfter
	}
	return WaitBackoff
}

// refusedKey returns the KeyID that the response to a refused; nil if it did not.
func (a *attempt) refusedKey() *string {
	if a == nil || a.response.StatusCode != http.StatusUnauthorized {
		return nil
	}
	return a.key.ID
}

// decodesNothing reports whether the body of the response is not decoded: that of Do without a
// target, or one without content.
func (a *attempt) decodesNothing() bool {
	return a.request.drops ||
		a.request.succeeds(http.StatusNoContent) && a.response.StatusCode == http.StatusNoContent
}

// secret returns the key of a; empty if it has none.
func (a *attempt) secret() string { return a.key.Secret() }

// scope returns the limit that a 429 seems to be for; empty for any other response.
func (a *attempt) scope() LimitScope {
	if a.response.StatusCode != http.StatusTooManyRequests {
		return ""
	}
	return scopeOf(a.response)
}

// reportLimit reports to the traces if the response closes or opens the rate limit.
func (a *attempt) reportLimit() {
	switch tracer := &a.core.tracer; {
	case !tracer.on() || a.response.StatusCode == 0:
	case a.response.StatusCode == http.StatusTooManyRequests:
		info := LimitInfo{Call: a.describe(), Scope: a.scope(), Until: opensAt(a.response)}
		tracer.limitClosed(a.ctx.Context, info, -1, a.closures)
	default:
		tracer.limitOpened(a.ctx.Context, a.describe(), a.ready, a.response.RateLimit.Remaining, a.closures)
	}
}

// reportDone reports the end of the attempt to the traces.
func (a *attempt) reportDone() {
	if tracer := &a.core.tracer; tracer.on() {
		tracer.attemptDone(a.ctx.Context, AttemptDoneInfo{
			Call:       a.describe(),
			Duration:   time.Since(a.ready),
			StatusCode: a.response.StatusCode,
			RateLimit:  a.response.RateLimit,
			RetryAfter: a.response.RetryAfter,
			Sent:       a.sent,
			Err:        a.err,
		})
	}
}
