package petstore

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"time"
)

// attempt is one request of a call: its context, its permit, and what came back. The values that another
// goroutine may see, a dialer of the transport say, are set before it is sent.
type attempt struct {
	context attemptContext
	number  int           // within the call, from 1
	waited  time.Duration // by the call for the rate limit, before this attempt
	key     apiKey
	permit  Permit    // nil once it is released
	ready   time.Time // when the outermost Acquire had returned
	request http.Request
	wire    wire

	sent       bool // the request may have been written
	received   time.Time
	statusCode int // 0: no response
	header     http.Header
	rateLimit  RateLimit
	retryAfter time.Duration
	date       time.Time
	body       []byte
	tooLarge   bool // body is cut at the bound
	err        error
	failure    failure
	raw        *http.Response // as the transport returned it
}

// send puts the request on the wire and takes in what comes back. Its result is in a.
func (a *attempt) send(cookies http.Header) {
	k := a.context.call
	a.context.begin(a.ready)
	defer a.context.end()
	resp, err := a.exchange(cookies) //nolint:bodyclose // readBody closes it
	if err == nil {
		err = a.readBody(resp)
	}
	if err != nil {
		err = k.attribute(a, err)
		a.failed(err, kindOf(err))
	}
	a.redact()
	k.tracedAttempt(a)
	k.reportGate(a)
}

// prepare builds the request by hand: everything in it is known to be well-formed.
func (a *attempt) prepare(cookies http.Header) {
	k := a.context.call
	r := http.Request{Method: k.operation.method, URL: &k.url, Host: k.url.Host, Header: a.requestHeader(cookies)}
	a.wire.setBody(k, &r)
	a.request = *r.WithContext(a.wire.watch(a))
}

// requestHeader is the header of the request. The values are shared between requests, and their capacity is
// their length, so that appending to one leaves the others alone.
func (a *attempt) requestHeader(cookies http.Header) http.Header {
	k := a.context.call
	h := maps.Clone(k.client.headers) // less work than filling a new one
	maps.Copy(h, cookies)
	maps.Copy(h, k.config.header)
	h["Authorization"] = a.key.authorization()
	if k.body != nil {
		h["Content-Type"] = h["Accept"]
	}
	return h
}

// exchange sends the request and gives the permit back as soon as the response's header is here: the next in the
// queue need not wait for the body.
func (a *attempt) exchange(cookies http.Header) (*http.Response, error) {
	k := a.context.call
	var observation Observation               // nothing was sent
	defer func() { a.release(observation) }() // also if a trace or the transport panics
	k.traceAttempt(a)
	a.prepare(cookies)
	observation.Sent = a.ready
	resp, err := final(k.client.transport(&a.request))
	a.sent = a.wire.mayHaveSent(k, err)
	if err != nil {
		if !a.sent {
			observation = Observation{}
		}
		observation.Abandoned = a.sent && contextErr(k.ctx.Context) != nil
		return nil, err
	}
	a.observe(resp)
	observation = a.observation(a.ready)
	return resp, nil
}

// release gives the permit back, with what became of the request. Further calls do nothing.
func (a *attempt) release(o Observation) {
	if permit := a.permit; permit != nil {
		a.permit = nil
		permit.Release(o)
	}
}

var errNothing = errors.New("the transport returned neither a response nor an error")

// final refuses what cannot be the response to a request: nothing, which http.Client refuses as well, but later,
// and a status from 000 to 199, which net/http lets pass.
func final(resp *http.Response, err error) (*http.Response, error) {
	switch {
	case err != nil:
		return nil, err
	case resp == nil:
		return nil, errNothing
	case resp.Body == nil:
		resp.Body = http.NoBody
	}
	if resp.StatusCode >= http.StatusOK {
		return resp, nil
	}
	_ = resp.Body.Close() // nothing in it is wanted
	return nil, fmt.Errorf("malformed HTTP response: status %03d", resp.StatusCode)
}

// observe keeps what the header of the response says.
func (a *attempt) observe(resp *http.Response) {
	c := a.context.call.client
	a.received = time.Now()
	a.raw = resp
	a.statusCode = resp.StatusCode
	a.header = resp.Header
	a.rateLimit = parseRateLimit(resp.Header)
	a.date = c.dates.parse(resp.Header)
	a.retryAfter = parseRetryAfter(resp.Header, a.date, a.received)
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

// drainBytes is how much of a body beyond its bound is read in the hope of saving the connection.
const drainBytes = 64 << 10

// readBody reads the body up to its bound and closes it.
func (a *attempt) readBody(resp *http.Response) (err error) {
	defer func() { _ = resp.Body.Close() }() // what was to be read has been
	k := a.context.call
	if k.buffer == nil { // not before: calls are many, and most of them wait for their response
		k.buffer = k.client.buffers.get()
	}
	a.tooLarge, err = k.buffer.fill(resp.Body, resp.ContentLength, k.client.maxBody)
	a.body = k.buffer.bytes
	if a.tooLarge {
		_, _ = io.CopyN(io.Discard, resp.Body, drainBytes)
	}
	return err
}

func (a *attempt) failed(err error, kind failure) { a.err, a.failure = err, kind }

// carrierResponse is the response for http.Client, which is not to see what it would act upon: the body has been
// read, and of a redirect, which is not followed, it parses the Location all the same and drops the
// response if that is malformed.
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
