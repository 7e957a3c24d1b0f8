package petstore

import (
	"io"
	"maps"
	"net/http"
	"time"

	"github.com/petstore/petstore-go/internal/credential"
	"github.com/petstore/petstore-go/internal/deadline"
	"github.com/petstore/petstore-go/internal/headers"
	"github.com/petstore/petstore-go/internal/wire"
)

// attempt is one request of a call, with its context, its permit and its response. The fields above
// the empty line are set before the request is sent, because other goroutines may read them then,
// for instance a dialer of the transport that calls CallFromContext.
type attempt struct {
	call     *call
	context  deadline.Context
	number   int           // within the call, starting at 1
	waited   time.Duration // time that the call waited for the rate limit before this attempt
	key      credential.Key
	permit   Permit    // nil once it is released
	closures uint64    // Client.closure.count when it asked for the permit
	ready    time.Time // when Acquire returned
	request  http.Request
	wire     wire.Record

	sent       bool // the request may have been written
	received   time.Time
	statusCode int // 0 without a response
	header     http.Header
	rateLimit  RateLimit
	retryAfter time.Duration
	date       time.Time
	body       []byte
	tooLarge   bool // body is cut off at the limit
	err        error
	failure    wire.Failure
	raw        *http.Response // the response of the transport
}

// send sends the request and reads the response into a.
func (a *attempt) send(cookies http.Header) {
	a.begin(a.ready)
	defer a.context.End()
	a.exchange(cookies)
	a.call.reportGate(a)
}

// begin begins the context of a.
func (a *attempt) begin(now time.Time) {
	a.context.Begin(&a.call.ctx, callKey{}, a, now, a.call.config.attemptTimeout)
}

// exchange is send without the report about the gate.
func (a *attempt) exchange(cookies http.Header) {
	k := a.call
	defer k.tracedAttempt(a)
	a.err = errPanicked               // for the trace, if a function of the user panics
	resp, err := a.roundTrip(cookies) //nolint:bodyclose // readBody closes it
	if err == nil {
		err = a.readBody(resp)
	}
	a.err = nil
	if err != nil {
		err = k.attribute(a, err)
		a.failed(err, a.kindOf(err))
	}
	a.redact()
}

// prepare builds the request without http.NewRequest, which would parse and check its parts again.
func (a *attempt) prepare(cookies http.Header) {
	k := a.call
	r := http.Request{Method: k.operation.method, URL: &k.url, Host: k.url.Host, Header: a.requestHeader(cookies)}
	http1 := k.client.http1.Load()
	a.wire.SetBody(&k.client.sends, &r, k.body, k.operation.repeatable, http1)
	a.request = *r.WithContext(a.wire.Watch(&a.context, http1))
}

// requestHeader returns the header of the request. Requests share the values of headers. The
// capacity of each value is its length, so that appending to a value of one request does not change
// another.
func (a *attempt) requestHeader(cookies http.Header) http.Header {
	k := a.call
	h := maps.Clone(k.client.headers) // faster than filling a new map
	maps.Copy(h, cookies)
	maps.Copy(h, k.config.header)
	h["Authorization"] = a.key.Header()
	if k.body != nil {
		h["Content-Type"] = h["Accept"]
	}
	return h
}

// roundTrip sends the request and returns the response. It releases the permit when it has the
// response's header, so that the next waiter need not wait for the body.
func (a *attempt) roundTrip(cookies http.Header) (*http.Response, error) {
	k := a.call
	var observation Observation               // not tried
	defer func() { a.release(observation) }() // deferred, since a trace or the transport may panic
	k.traceAttempt(a)
	a.prepare(cookies)
	observation.Sent = a.ready
	resp, err := wire.CheckResponse(k.client.transport(&a.request))
	a.sent = a.wire.MayHaveSent(err)
	k.sent = k.sent || a.sent
	if err != nil {
		switch ended := deadline.Err(k.ctx.Context) != nil; {
		case a.sent:
			observation.Abandoned = ended
		case ended:
			observation = Observation{} // this shows nothing about the service
		default:
			observation = Observation{Received: time.Now()}
		}
		return nil, err
	}
	a.observe(resp)
	observation = a.observation(a.ready)
	return resp, nil
}

// release releases the permit and reports the outcome of the request. Further calls have no effect.
func (a *attempt) release(o Observation) {
	if permit := a.permit; permit != nil {
		a.permit = nil
		permit.Release(o)
	}
}

// observe records the status and the headers of the response.
func (a *attempt) observe(resp *http.Response) {
	c := a.call.client
	a.received = time.Now()
	a.raw = resp
	a.statusCode = resp.StatusCode
	a.header = resp.Header
	a.rateLimit = RateLimit(headers.RateLimit(resp.Header))
	a.date = c.dates.Parse(resp.Header)
	a.retryAfter = headers.RetryAfter(resp.Header, a.date, a.received)
	c.sawResponse(resp.ProtoMajor, a.rateLimit)
}

func (a *attempt) observation(sent time.Time) Observation {
	return Observation{
		Sent:       sent,
		Received:   a.received,
		StatusCode: a.statusCode,
		RateLimit:  a.rateLimit,
		RetryAfter: a.retryAfter,
		Date:       a.date,
	}
}

// drainBytes is how much of a body past its limit is read and dropped. net/http can use a
// connection again only if its body was read to the end; a new connection costs less than reading
// 64 KiB more.
const drainBytes = 64 << 10

// readBody reads the body up to its limit and closes it.
func (a *attempt) readBody(resp *http.Response) (err error) {
	defer func() { _ = resp.Body.Close() }() // after a complete read, Close cannot report a lost byte
	k := a.call
	if k.buffer == nil { // taken late, so that calls that wait for a response hold no buffer
		k.buffer = k.client.buffers.Get()
	}
	a.tooLarge, err = k.buffer.Fill(resp.Body, resp.ContentLength, k.client.maxBody)
	a.body = k.buffer.Bytes
	if a.tooLarge {
		_, _ = io.CopyN(io.Discard, resp.Body, drainBytes)
	}
	return err
}

func (a *attempt) failed(err error, kind wire.Failure) { a.err, a.failure = err, kind }

// carrierResponse returns the response for http.Client, without the parts that http.Client would
// act on: the body, which has been read, and the Location of a redirect, since http.Client parses
// it even if it does not follow it, and drops the response if the Location is malformed.
func (a *attempt) carrierResponse() (*http.Response, error) {
	resp := a.raw
	if resp == nil {
		return nil, a.err
	}
	resp.Body = http.NoBody
	if resp.StatusCode/100 == 3 {
		resp.Header = maps.Clone(resp.Header)
		resp.Header.Del("Location")
	}
	return resp, nil
}
