package petstore

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"time"

	"github.com/petstore/petstore-go/internal/credential"
	"github.com/petstore/petstore-go/internal/safetext"
	"github.com/petstore/petstore-go/internal/wire"
	"github.com/petstore/petstore-go/ratelimit"
)

var errSameKey = errors.New("petstore: after a 401 there is no other key")

// RoundTrip makes one attempt: key, permit, request, whole response. It implements
// [http.RoundTripper] for the loop of the call, whose checkRetry looks at the attempt: the response
// that RoundTrip returns is always empty.
func (k *call) RoundTrip(loop *http.Request) (*http.Response, error) {
	k.endPause()
	a := &attempt{}
	k.previous, k.last, k.info.Attempt = k.last, a, k.info.Attempt+1
	t := k.client.transport
	if t.suspectIdle.Swap(false) {
		time.Sleep(time.Millisecond) // a stream of HTTP/2 ends a moment after its request
		t.closeIdleConnections()     // those for other keys, too
	}
	waits := loop.Context()
	err := k.admit(waits, a)
	switch {
	case err != nil:
		a.failure, a.err = notAdmitted, err
	case k.isWrite():
		k.send(k.ctx, loop, a) // WithStop lets writes finish
	default:
		k.send(waits, loop, a)
	}
	return &http.Response{Body: http.NoBody}, nil
}

// admit gets the key and a permit for it, which is nil without a limiter. If that took a while, it
// asks for the key again; another key needs a permit of its own.
func (k *call) admit(ctx context.Context, a *attempt) error {
	const negligible = 10 * time.Millisecond // of a wait: even on a busy machine, a free permit takes less
	key, err := k.key(ctx)
	for err == nil {
		if k.previous.was(http.StatusUnauthorized) && k.previous.key.ID == key.ID {
			return errSameKey
		}
		a.key, k.info.KeyID = key, key.ID
		k.client.lastKeyID.Store(key.ID)
		begun := time.Now()
		a.permit, err = k.acquire(ctx)
		waited := time.Since(begun)
		k.maxWait -= waited
		if err != nil {
			return err
		}
		err = k.endReason(ctx)
		if waited >= negligible {
			key, err = k.key(ctx)
		}
		if err == nil && key.ID == a.key.ID {
			return nil
		}
		k.release(a)
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
	if k.previous != nil && k.previous.key.ID == k.info.KeyID { // another key has a limit of its own
		r.NotBefore = k.previous.retryAt
	}
	if len(k.traces) > 0 {
		r.Observer = k
	}
	permit, err := k.config.limiter.Acquire(k.describe(ctx), r)
	if err == nil {
		return permit, nil
	}
	reason := k.endReason(ctx)
	limited, ok := errors.AsType[*ratelimit.Error](err)
	if ok && !errors.Is(reason, ErrStopped) {
		own := *limited
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

// send sends the request and reads the response into a. caller is the context of the call.
func (k *call) send(caller context.Context, loop *http.Request, a *attempt) {
	begun := time.Now()
	ctx, cancel := k.withTimeout(k.describe(caller))
	defer cancel()
	defer k.release(a) // in case that a function of the user panics
	k.each(func(ctx context.Context, trace *ClientTrace) { trace.AttemptStart(ctx, k.info) })
	header := k.config.header.Clone()
	ctx = k.attemptContext(ctx, header)
	a.outcome.Sent = begun // also if the transport panics
	resp, err := k.client.transport.roundTrip(k.newRequest(ctx, loop, header, a))
	a.mayBeWritten = err == nil || a.connection.maySend(err)
	switch {
	case err == nil:
		err = k.receive(resp, begun, a)
	case a.mayBeWritten:
		a.outcome.Abandoned = caller.Err() != nil
	default:
		a.outcome = ratelimit.Outcome{}
	}
	if err != nil {
		k.fail(caller, ctx, a, err)
		if a.connection.isDead() && !errors.Is(a.err, context.Canceled) {
			k.client.transport.suspectIdle.Store(true)
		}
	}
	k.release(a)
	if a.mayBeWritten {
		k.requestsSent++
	}
	o := &a.outcome
	done := AttemptDoneInfo{
		Call: k.info, Duration: time.Since(begun), StatusCode: o.StatusCode, RateLimit: o.Window,
		RetryAfter: o.RetryAfter, Sent: a.mayBeWritten, Err: a.err,
	}
	k.each(func(ctx context.Context, trace *ClientTrace) { trace.AttemptDone(ctx, done) })
}

// receive reads a response into a. The permit is released before the body is read, so that the next
// request need not wait for that.
func (k *call) receive(resp *http.Response, begun time.Time, a *attempt) error {
	a.expectedStatus = k.succeeds(resp.StatusCode)
	a.outcome = ratelimit.OutcomeOf(resp, begun, time.Now())
	a.header = safetext.Header(resp.Header, a.key.Secret())
	k.client.transport.http1.Store(resp.ProtoMajor == 1)
	if k.config.limiter == nil && !a.outcome.Window.IsZero() { // a limiter keeps the rate limit
		window := a.outcome.Window
		k.client.lastLimit.Store(&window)
	}
	k.release(a)
	if a.was(http.StatusTooManyRequests) && !a.retryAt.After(a.outcome.Received) {
		a.retryAt, a.loopWaits = time.Time{}, true
		if a.outcome.RetryAfter > 0 {
			a.retryAt = a.outcome.Received.Add(a.outcome.RetryAfter)
		}
	}
	return a.read(resp)
}

// newRequest returns the request of an attempt, made from that of the loop.
func (k *call) newRequest(ctx context.Context, loop *http.Request, header http.Header, a *attempt) *http.Request {
	r := loop.WithContext(httptrace.WithClientTrace(ctx, a.connection.hooks()))
	own := *loop.URL // the transport may change it
	r.URL, r.Header = &own, header
	header["Authorization"] = []string{a.key.Header()}
	if k.body != nil {
		header["Content-Type"] = []string{"application/json"}
	}
	if k.isWrite() || k.client.transport.http1.Load() {
		// Without GetBody, and with a body that is not nil even if it is empty, net/http never repeats a
		// request. Otherwise it would repeat a write after a PROTOCOL_ERROR, although the server may
		// have carried it out, and a read over HTTP/1 on one idle connection after the other, without a
		// permit. Over HTTP/1, a GET or DELETE with an empty body looks as if it had none.
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(k.body)), int64(len(k.body))
	}
	return r
}

// release releases the permit, if a still has it, and keeps the lockout that the limiter reports.
func (k *call) release(a *attempt) {
	if a.permit != nil {
		lockout := a.permit.Release(a.outcome)
		a.permit, a.retryAt, a.reason = nil, lockout.Until, lockout.Reason
	}
}

// read reads the body of a response, at most maxBody bytes of it.
func (a *attempt) read(resp *http.Response) error {
	defer resp.Body.Close()  // its error says nothing new: the body was read to its end, or is given up
	const maxBody = 10 << 20 // about 100,000 pets; the document allows 100
	size := resp.ContentLength
	if size < 0 || size > maxBody { // a server may announce any length: memory is taken as bytes arrive
		size = 8 << 10
	}
	body := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
	n, err := body.ReadFrom(io.LimitReader(resp.Body, maxBody+1))
	a.body = body.Bytes()
	if n > maxBody {
		a.failure = bodyTooLarge
	}
	return err
}

// fail records why there is no whole response. caller and ctx are the contexts of call and attempt.
func (k *call) fail(caller, ctx context.Context, a *attempt, err error) {
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		<-ctx.Done() // a dialer may report the deadline a moment before the context ends
	}
	a.failure, a.err = connectionFailed, foreign(safetext.Error(err, a.key.Secret()))
	switch {
	case caller.Err() != nil:
		a.failure, a.err = contextEnded, k.endReason(caller)
	case wire.IsNotHTTP(err) && a.mayBeWritten && a.outcome.StatusCode == 0:
		a.failure = notHTTP
	case ctx.Err() != nil:
		a.err = &timeoutError{"attempt", k.timeout()}
	case wire.IsPermanent(err), !a.mayBeWritten && errors.Is(err, ErrNotSent):
		a.failure = permanent
	}
}
