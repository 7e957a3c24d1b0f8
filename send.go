package petstore

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/petstore/petstore-go/internal/credential"
	"github.com/petstore/petstore-go/internal/safetext"
	"github.com/petstore/petstore-go/internal/wire"
	"github.com/petstore/petstore-go/ratelimit"
)

// exchange is what came of one attempt. RoundTrip fills it; nothing changes it afterwards. The
// decision about the next attempt, and the result or the error of the call, need nothing else.
type exchange struct {
	key        credential.Key
	permit     ratelimit.Permit // until it is released; nil without a limiter
	connection connectionState
	sent       bool              // the request may have been written
	outcome    ratelimit.Outcome // of the request, for the limiter: the status and the times, for example
	header     http.Header       // of the response, without the key
	body       []byte            // of the response, or its start
	success    bool              // the status is the documented one
	failure    failure
	err        error     // why there is no whole response; nil if there is one
	retryAt    time.Time // when the limiter or a 429 allows the next request; zero if not known
	reason     ratelimit.Reason
	// loopWaits says that no limiter waits until retryAt, so that the loop must do that.
	loopWaits bool
}

// failure is why an attempt has no whole response.
type failure uint8

const (
	none      failure = iota
	refused           // nothing was passed to the transport: no key, no permit, or the context had ended
	ended             // the context of the call has ended
	broken            // no connection, or it failed: another attempt may succeed
	permanent         // another attempt would fail in the same way
	notHTTP           // the response is not HTTP
	tooLarge          // the body is larger than maxBody
)

// succeeded reports whether there is a whole response with the documented status.
func (x *exchange) succeeded() bool { return x.success && x.failure == none }

// was reports whether there is a response with that status; x may be nil.
func (x *exchange) was(status int) bool { return x != nil && x.outcome.StatusCode == status }

var errSameKey = errors.New("petstore: after a 401 there is no other key")

// RoundTrip makes one attempt: key, permit, request, whole response. It implements
// [http.RoundTripper] for the loop of the call.
func (k *call) RoundTrip(loop *http.Request) (*http.Response, error) {
	k.endPause()
	x := &exchange{}
	k.previous, k.last, k.info.Attempt = k.last, x, k.info.Attempt+1
	if k.client.silent.Swap(false) {
		select { // a stream of HTTP/2 ends a moment after its request
		case <-time.After(time.Millisecond):
		case <-loop.Context().Done():
		}
		k.client.CloseIdleConnections()
	}
	if err := k.admit(loop.Context(), x); err != nil {
		x.failure, x.err = refused, err
		return nil, err
	}
	ctx := loop.Context()
	if k.isWrite() {
		ctx = k.ctx // WithStop lets writes finish
	}
	k.send(ctx, loop, x)
	if x.err != nil {
		return nil, x.err
	}
	return &http.Response{StatusCode: x.outcome.StatusCode, Header: x.header, Body: http.NoBody, Request: loop}, nil
}

// admit gets the key and a permit for it, which is nil without a limiter. If that took a while, it
// asks for the key again; another key needs a permit of its own.
func (k *call) admit(ctx context.Context, x *exchange) error {
	const noWait = 10 * time.Millisecond // enough, even on a busy machine, for a permit that is there at once
	key, err := k.key(ctx)
	for err == nil {
		if k.previous.was(http.StatusUnauthorized) && *k.previous.key.ID == *key.ID {
			return errSameKey
		}
		x.key, k.info.KeyID = key, *key.ID
		k.client.used.Store(key.ID)
		begun := time.Now()
		x.permit, err = k.acquire(ctx)
		waited := time.Since(begun)
		k.maxWait -= waited
		if err != nil {
			return err
		}
		err = k.endReason(ctx)
		if waited >= noWait {
			key, err = k.key(ctx)
		}
		if err == nil && *key.ID == *x.key.ID {
			return nil
		}
		k.release(x)
	}
	return err
}

// key returns the key for the next request, or why there must not be one. The function of
// WithAPIKeyFunc has as much time as an attempt.
func (k *call) key(ctx context.Context) (credential.Key, error) {
	if err := k.endReason(ctx); err != nil || k.config.keyFunc == nil {
		return k.client.key, err
	}
	limited, cancel := k.withTimeout(ctx)
	defer cancel()
	key, err := credential.From(k.describe(limited), k.config.keyFunc)
	if err == nil {
		return key, nil
	}
	err = foreign(err)
	if limited.Err() != nil {
		err = &timeoutError{"attempt", k.timeout()}
	}
	return key, cmp.Or(k.endReason(ctx), error(&keyError{err}))
}

// acquire gets a permit from the limiter, if there is one.
func (k *call) acquire(ctx context.Context) (ratelimit.Permit, error) {
	if k.config.limiter == nil {
		return nil, nil
	}
	r := ratelimit.Request{
		Key: k.info.KeyID, Background: k.config.background, MaxWait: max(0, k.maxWait), Asked: k.started,
	}
	if k.previous != nil {
		r.NotBefore = k.previous.retryAt
	}
	if len(k.client.traces) > 0 {
		r.Observer = k
	}
	permit, err := k.config.limiter.Acquire(k.describe(ctx), r)
	if err == nil {
		return permit, nil
	}
	reason := k.endReason(ctx)
	if refusal, ok := errors.AsType[*ratelimit.Error](err); ok && !errors.Is(reason, ErrStopped) {
		own := *refusal
		own.Err = cmp.Or(reason, foreign(own.Err))
		return nil, &own
	}
	return nil, cmp.Or(reason, foreign(err))
}

// withTimeout returns a context that ends with the timeout of an attempt.
func (k *call) withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	if d := k.timeout(); d > 0 {
		return context.WithTimeout(ctx, d)
	}
	return context.WithCancel(ctx)
}

// timeout returns the shorter of WithAttemptTimeout and the Timeout of the http.Client; 0 for none.
func (k *call) timeout() time.Duration {
	d, longest := k.config.attemptTimeout, k.config.longestAttempt
	if d == 0 || longest > 0 && longest < d {
		return longest
	}
	return d
}

// send sends the request and reads the response into x. caller is the context of the call.
func (k *call) send(caller context.Context, loop *http.Request, x *exchange) {
	begun := time.Now()
	ctx, cancel := k.withTimeout(k.describe(caller))
	defer cancel()
	defer k.release(x) // in case that a function of the user panics
	k.attemptStart()
	ctx, header := k.attemptContext(ctx)
	x.outcome.Sent = begun // also if the transport panics
	resp, err := k.client.transport(k.newRequest(ctx, loop, header, x))
	x.sent = err == nil || x.connection.maySend(err)
	switch {
	case err == nil:
		err = k.receive(resp, begun, x)
	case x.sent:
		x.outcome.Abandoned = caller.Err() != nil
	default:
		x.outcome = ratelimit.Outcome{}
	}
	if err != nil {
		k.fail(caller, ctx, x, err)
		if x.connection.isDead() && !errors.Is(x.err, context.Canceled) {
			k.client.silent.Store(true)
		}
	}
	k.release(x)
	if x.sent {
		k.sent++
	}
	k.attemptDone(begun, x)
}

// receive reads a response into x. It releases the permit before it reads the body, so that the
// next request need not wait for that.
func (k *call) receive(resp *http.Response, begun time.Time, x *exchange) error {
	x.success = k.succeeds(resp.StatusCode)
	x.outcome = ratelimit.OutcomeOf(resp, begun, time.Now())
	x.header = safetext.Header(resp.Header, x.key.Secret())
	k.client.http1.Store(resp.ProtoMajor == 1)
	if k.config.limiter == nil && !x.outcome.Window.IsZero() { // a limiter keeps the rate limit
		window := x.outcome.Window
		k.client.lastLimit.Store(&window)
	}
	k.release(x)
	return x.read(resp)
}

// newRequest returns the request of an attempt, made from that of the loop.
func (k *call) newRequest(ctx context.Context, loop *http.Request, header http.Header, x *exchange) *http.Request {
	r := loop.WithContext(httptrace.WithClientTrace(ctx, x.connection.hooks()))
	own := *loop.URL // the transport may change it
	r.URL, r.Header = &own, header
	header["Authorization"] = []string{x.key.Header()}
	if k.body != nil {
		header["Content-Type"] = []string{"application/json"}
	}
	if k.isWrite() || k.client.http1.Load() {
		// Without GetBody, and with a body that is not nil even if it is empty, net/http never repeats a
		// request. Otherwise it would repeat a write after a PROTOCOL_ERROR, which a server may send after
		// it has carried out the request, and a read over HTTP/1 on one idle connection after the other,
		// without a permit. Over HTTP/1, a GET or DELETE with an empty body looks as if it had none.
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(k.body)), int64(len(k.body))
	}
	return r
}

// connectionState is what net/http reports about the connection of a request.
type connectionState struct{ asked, got, reused, answered atomic.Bool }

func (s *connectionState) hooks() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GetConn: func(string) { s.asked.Store(true) },
		GotConn: func(info httptrace.GotConnInfo) {
			// That of httputil.DumpRequestOut leads nowhere.
			real := info.Conn == nil || info.Conn.RemoteAddr() != nil
			s.asked.Store(real)
			s.got.Store(real || s.got.Load())
			s.reused.Store(info.Reused)
		},
		GotFirstResponseByte: func() { s.answered.Store(true) },
	}
}

// maySend reports whether the request may have been written although the transport returned err: it
// got a connection, or never asked for one because it is none of net/http's.
func (s *connectionState) maySend(err error) bool {
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

// release releases the permit, unless that has been done, and keeps what the limiter says about a
// 429.
func (k *call) release(x *exchange) {
	if x.permit != nil {
		lockout := x.permit.Release(x.outcome)
		x.permit, x.retryAt, x.reason = nil, lockout.Until, lockout.Reason
	}
	if x.was(http.StatusTooManyRequests) && !x.retryAt.After(x.outcome.Received) {
		x.retryAt, x.loopWaits = time.Time{}, true
		if x.outcome.RetryAfter > 0 {
			x.retryAt = x.outcome.Received.Add(x.outcome.RetryAfter)
		}
	}
}

// read reads the body of a response, at most maxBody bytes of it.
func (x *exchange) read(resp *http.Response) error {
	defer resp.Body.Close()  // its error says nothing new: the body was read to its end, or is given up
	const maxBody = 10 << 20 // about 100,000 pets; the document allows 100
	size := resp.ContentLength
	if size < 0 || size > maxBody { // a server may announce any length: memory is taken as bytes arrive
		size = 8 << 10
	}
	body := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
	n, err := body.ReadFrom(io.LimitReader(resp.Body, maxBody+1))
	x.body = body.Bytes()
	if n > maxBody {
		x.failure = tooLarge
	}
	return err
}

// fail records why there is no whole response. caller is the context of the call, ctx that of the
// attempt.
func (k *call) fail(caller, ctx context.Context, x *exchange, err error) {
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		<-ctx.Done() // a dialer may report the deadline a moment before the context ends
	}
	x.failure, x.err = broken, foreign(safetext.Error(err, x.key.Secret()))
	switch {
	case caller.Err() != nil:
		x.failure, x.err = ended, k.endReason(caller)
	case wire.IsNotHTTP(err) && x.sent && x.outcome.StatusCode == 0:
		x.failure = notHTTP
	case ctx.Err() != nil:
		x.err = &timeoutError{"attempt", k.timeout()}
	case wire.IsPermanent(err), !x.sent && errors.Is(err, ErrNotSent):
		x.failure = permanent
	}
}
