package petstore

import (
	"context"
	"io"
	"maps"
	"net/http"
	"time"

	"github.com/petstore/petstore-go/internal/body"
	"github.com/petstore/petstore-go/internal/credential"
	"github.com/petstore/petstore-go/internal/deadline"
	"github.com/petstore/petstore-go/internal/retry"
	"github.com/petstore/petstore-go/internal/safetext"
	"github.com/petstore/petstore-go/internal/wire"
	"github.com/petstore/petstore-go/ratelimit"
)

// sender is the RoundTripper below go-retryablehttp. It makes one attempt: a permit of the limiter,
// the key, one request with the attempt's context, the whole response in memory.
type sender struct{ call *call }

// RoundTrip implements [http.RoundTripper]. The response that it returns has only a status: call.go
// decodes the body of the attempt, and http.Client would parse a Location even if it does not
// follow it, and drop the response if the Location is malformed.
func (s sender) RoundTrip(outer *http.Request) (*http.Response, error) {
	k := s.call
	p := &k.progress
	k.finishPause()
	a := &k.first
	if p.last != nil {
		a = new(attempt)
	}
	a.call, a.number = k, p.seen.Attempt+1
	if err := a.admit(); err != nil {
		p.refused = k.refusal(a, err)
		return nil, p.refused
	}
	p.last = a
	a.send(outer)
	p.record(func(seen *Call) { seen.KeyRefused = a.unauthorized() })
	if a.sent {
		p.sent++
	}
	if a.response.StatusCode == 0 {
		return nil, a.err
	}
	k.loop.response = http.Response{StatusCode: a.response.StatusCode, Header: noHeader, Body: http.NoBody}
	return &k.loop.response, nil
}

// attempt is one request of a call, with its permit and its response.
type attempt struct {
	call   *call
	number int            // within the call, starting at 1
	seen   Call           // what other goroutines read
	key    credential.Key // zero if there is none

	keyState *keyState
	permit   ratelimit.Permit // nil once it is released
	ready    time.Time        // when it got the permit
	wire     wire.Record
	guard    *wire.Guard // nil if the request does not go over HTTP/2

	raw      http.Header // of the response
	header   http.Header // without the key
	response ratelimit.Outcome
	lockout  ratelimit.Lockout // of the key after a 429
	ownWait  bool              // no limiter waits for the end of the lockout
	buffer   *body.Buffer
	body     []byte        // in buffer
	tooLarge bool          // body is cut off at the limit
	sent     bool          // the request may have been written
	failure  retry.Failure // the kind of err
	err      error         // why there is no complete response
	ended    error         // err, if the context of the call has ended
}

// send sends the request and reads the response into a.
func (a *attempt) send(outer *http.Request) {
	ctx, cancel := a.begin(a.call.ctx, &a.seen)
	defer cancel()
	defer a.reportDone()
	a.err = errPanicked // for the trace, if a function of the user panics
	err := a.roundTrip(ctx, cancel, outer)
	a.err = nil
	if err != nil {
		a.fail(ctx, err)
	}
}

// roundTrip sends the request and reads the response. It releases the permit when it has the
// response's header, so that the next waiter need not wait for the body.
func (a *attempt) roundTrip(ctx context.Context, cancel context.CancelFunc, outer *http.Request) error {
	var observation ratelimit.Outcome         // not tried
	defer func() { a.release(observation) }() // deferred, since a trace or the transport may panic
	k := a.call
	k.client.eachTrace(func(t *ClientTrace) {
		if t.AttemptStart != nil {
			t.AttemptStart(k.ctx, a.seen)
		}
	})
	req := a.prepare(ctx, cancel, outer)
	observation = ratelimit.Outcome{Sent: a.ready}
	resp, err := a.transport(req) // readBody closes it
	a.sent = a.wire.MayHaveSent(err)
	if err == nil {
		a.observe(resp)
		a.release(a.response)
		if resp.StatusCode == http.StatusTooManyRequests && a.lockout.Until.IsZero() {
			a.lockout, a.ownWait = lockoutOf(&a.response), true
		}
		// A copy: the transport may share the header with other requests. Before the body is read,
		// whose reader may panic, so that no trace ever sees the key.
		a.header = safetext.Header(resp.Header, a.key.Secret())
		return a.readBody(resp)
	}
	if a.sent {
		observation.Abandoned = deadline.Err(k.ctx) != nil
	} else {
		observation = ratelimit.Outcome{}
	}
	return err
}

// transport sends the request. Over HTTP/2, another goroutine does it, because a server can make
// net/http hang for ever; over HTTP/1 that would only cost time.
func (a *attempt) transport(req *http.Request) (*http.Response, error) {
	shared := a.call.client.shared
	if !shared.http2.Load() {
		return wire.CheckResponse(shared.transport(req))
	}
	a.guard = new(wire.Guard)
	return a.guard.RoundTrip(shared.transport, req)
}

// prepare returns the request of a, made from that of the loop: with the attempt's context, the
// header, the key, the cookies and a body that records whether it was read. Requests share the
// values of headers. The capacity of each value is its length, so that appending to one does not
// change another.
func (a *attempt) prepare(ctx context.Context, cancel context.CancelFunc, outer *http.Request) *http.Request {
	k := a.call
	a.wire.Transport, a.wire.Repeatable = &k.client.shared.sends, k.operation.repeatable
	req := outer.WithContext(a.wire.Watch(ctx, cancel, &k.url))
	req.Host = k.url.Host
	a.wire.SetBody(req, k.body)
	h := maps.Clone(k.client.shared.headers) // faster than filling a new map
	maps.Copy(h, k.config.header)
	h["Authorization"] = a.key.Header()
	if k.body != nil {
		h["Content-Type"] = h["Accept"]
	}
	req.Header = h
	if jar := a.keyState.jar; jar != nil {
		for _, cookie := range jar.Cookies(&k.url) {
			req.AddCookie(cookie)
		}
	}
	return req
}

// observe records the status and the headers of the response.
func (a *attempt) observe(resp *http.Response) {
	now := time.Now()
	a.raw = resp.Header
	a.response = ratelimit.OutcomeOf(resp, a.ready, now)
	k := a.call
	k.client.shared.http2.Store(resp.ProtoMajor >= 2)
	if k.client.shared.config.limiter == nil && !a.response.Window.IsZero() {
		seen := a.response.Window // a copy: taking the field's address would keep the attempt
		a.keyState.seen.Store(&seen)
	}
	if jar := a.keyState.jar; jar != nil {
		if cookies := resp.Cookies(); len(cookies) > 0 {
			jar.SetCookies(&k.url, cookies)
		}
	}
}

// readBody reads the body up to its limit and closes it.
func (a *attempt) readBody(resp *http.Response) (err error) {
	defer func() { _ = resp.Body.Close() }() // after a complete read, Close cannot report a lost byte
	shared := a.call.client.shared
	a.buffer = shared.buffers.Get() // late, so that calls that wait for a response hold no buffer
	a.tooLarge, err = a.buffer.Fill(resp.Body, resp.ContentLength, shared.config.maxResponseBytes)
	a.body = a.buffer.Bytes
	if a.tooLarge {
		// net/http uses a connection again only if the body was read to its end. A new connection
		// costs less than reading 64 KiB more.
		_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
	}
	return err
}

// fail records the error of the transport, or of reading the body, without the key.
func (a *attempt) fail(ctx context.Context, err error) {
	a.ended, a.failure = a.callerEnded(), retry.Connection
	switch {
	case a.ended != nil:
		a.err = a.ended
	case a.wire.Repeated():
		a.err = wire.ErrNotRepeated
	// If the server does not speak HTTP, another attempt does not help, however late the response
	// was. Another timeout, such as a dialer's, is not that of the attempt.
	case deadline.Err(ctx) != nil && !wire.NotHTTP(err):
		a.err = a.call.attemptTimeout()
	default:
		if a.response.StatusCode == 0 { // else the error has cut off the body
			a.failure = a.wire.KindOf(err, &a.call.url, a.sent)
		}
		a.err = foreign(safetext.Error(wire.Cause(err), a.key.Secret()))
	}
}

// result returns what decides about another attempt.
func (a *attempt) result() retry.Result {
	code := a.response.StatusCode
	return retry.Result{Sent: a.sent, Status: code, Success: a.call.operation.succeeds(code), Failure: a.failure}
}

// succeeded reports whether there is a complete response with the documented status.
func (a *attempt) succeeded() bool {
	return a.err == nil && !a.tooLarge && a.call.operation.succeeds(a.response.StatusCode)
}

// unauthorized reports whether the service refused the key of a.
func (a *attempt) unauthorized() bool { return a.response.StatusCode == http.StatusUnauthorized }
