package petstore

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"time"

	"github.com/petstore/petstore-go/internal/credential"
	"github.com/petstore/petstore-go/internal/safetext"
	"github.com/petstore/petstore-go/internal/wire"
	"github.com/petstore/petstore-go/ratelimit"
)

// RoundTrip implements [http.RoundTripper] for the loop, which calls it once for each attempt. It
// makes the attempt: key, permit, request, whole response. It always returns an empty response,
// because checkRetry looks at k.last instead.
func (k *call) RoundTrip(r *http.Request) (*http.Response, error) {
	k.endPause()
	a := &attempt{}
	k.previous, k.last, k.info.Attempt = k.last, a, k.info.Attempt+1
	k.client.transport.closeSuspects(k.stoppable)
	if err := k.getPermit(a); err != nil {
		a.failure, a.err = noPermit, err
	} else {
		k.send(r, a)
	}
	return &http.Response{Body: http.NoBody}, nil
}

// getPermit gets the key, and a permit for this key. After a wait for the permit, it asks for the
// key again. If the key has changed, getPermit gets a permit for the new one.
func (k *call) getPermit(a *attempt) error {
	// After a shorter wait, the key is not asked for again: keys rarely change that fast, and even
	// a slow Redis gives a free permit in less.
	const negligible = time.Second
	key, err := k.key()
	for err == nil && key.ID != a.key.ID { // the attempt has no key at first
		a.release() // the permit of the previous key
		if k.previous.was(http.StatusUnauthorized) && k.previous.key.ID == key.ID {
			return errSameKey
		}
		a.key, k.info.KeyID = key, key.ID
		k.client.lastKeyID.Store(key.ID)
		begun := time.Now()
		a.permit, err = k.acquire()
		waited := time.Since(begun)
		k.maxWait -= waited
		switch {
		case err != nil:
			return err
		case waited < negligible:
			err = k.endReason(k.stoppable)
		default:
			key, err = k.key()
		}
	}
	if err != nil {
		a.release()
	}
	return err
}

// key returns the key for the next request, or the error why nothing may be sent. The function of
// WithAPIKeyFunc has the timeout of an attempt.
func (k *call) key() (credential.Key, error) {
	if err := k.endReason(k.stoppable); err != nil || k.config.keyFunc == nil {
		return k.client.key, err
	}
	ctx, cancel := k.withTimeout(k.stoppable)
	defer cancel()
	key, err := credential.From(k.withCall(ctx), k.config.keyFunc)
	if err == nil {
		return key, nil
	}
	err = wrappable(err)
	if ctx.Err() != nil {
		err = timedOut("attempt", k.config.attemptTimeout)
	}
	return key, cmp.Or(k.endReason(k.stoppable), fmt.Errorf("%w: %w", ErrAPIKey, err))
}

// acquire gets a permit from the limiter, if there is one.
func (k *call) acquire() (ratelimit.Permit, error) {
	if k.config.limiter == nil {
		return nil, nil
	}
	r := ratelimit.Request{
		Key: k.info.KeyID, Background: k.config.background, MaxWait: max(0, k.maxWait), Asked: k.started, Observer: k,
	}
	if k.previous != nil && k.previous.key.ID == k.info.KeyID { // another key has a limit of its own
		r.NotBefore = k.previous.retryAt()
	}
	permit, err := k.config.limiter.Acquire(k.withCall(k.stoppable), r)
	if err == nil {
		return permit, nil
	}
	reason := k.endReason(k.stoppable)
	limited, ok := errors.AsType[*ratelimit.Error](err)
	if ok && !errors.Is(reason, ErrStopped) {
		own := *limited
		own.Err = cmp.Or(reason, wrappable(own.Err))
		return nil, &own
	}
	return nil, cmp.Or(reason, wrappable(err))
}

// release releases the permit, if there is one that is not released yet.
func (a *attempt) release() {
	if p := a.permit; p != nil {
		a.permit = nil
		a.lockout = p.Release(a.outcome)
	}
}

// send sends the request of an attempt, reads the response into a, and reports both to the traces.
func (k *call) send(r *http.Request, a *attempt) {
	begun := time.Now()
	k.sendAndReceive(r, begun, a)
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

// sendAndReceive does what happens between AttemptStart and AttemptDone.
func (k *call) sendAndReceive(r *http.Request, begun time.Time, a *attempt) {
	parent := k.stoppable
	if k.isWrite() {
		parent = k.ctx // WithStop lets writes finish
	}
	ctx, cancel := k.withTimeout(k.withCall(parent))
	defer cancel()
	defer a.release() // also without a response, or if a function of the user panics
	k.each(func(ctx context.Context, trace *ClientTrace) { trace.AttemptStart(ctx, k.info) })
	header := k.config.header.Clone()
	ctx = k.attemptContext(ctx, header)
	a.outcome.Sent = begun // before the send, so that the limiter gets it even if the transport panics
	resp, err := k.client.transport.roundTrip(k.newRequest(ctx, r, header, a))
	a.mayBeWritten = err == nil || a.connection.wrote(err)
	switch {
	case err == nil:
		err = k.receive(resp, a)
	case a.mayBeWritten:
		a.outcome.Abandoned = parent.Err() != nil
	default:
		a.outcome = ratelimit.Outcome{}
	}
	if err != nil {
		k.fail(parent, ctx, a, err)
	}
}

// withTimeout returns a context that ends with the timeout of an attempt.
func (k *call) withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	if k.config.attemptTimeout > 0 {
		return context.WithTimeout(ctx, k.config.attemptTimeout)
	}
	return context.WithCancel(ctx)
}

// newRequest returns the request of an attempt, made from the request of the loop.
func (k *call) newRequest(ctx context.Context, r *http.Request, header http.Header, a *attempt) *http.Request {
	r = r.Clone(httptrace.WithClientTrace(ctx, a.connection.hooks())) // the transport may change it
	r.Header = header
	header["Authorization"] = []string{"Bearer " + a.key.Secret()}
	if k.body != nil {
		header["Content-Type"] = []string{"application/json"}
	}
	if k.client.transport.givesBody(k.method, k.body) {
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(k.body)), int64(len(k.body))
	}
	return r
}

// receive reads a response into a. The permit is released before the body is read, so that the next
// request need not wait for the body.
func (k *call) receive(resp *http.Response, a *attempt) error {
	a.outcome = ratelimit.OutcomeOf(resp, a.outcome.Sent, time.Now())
	a.header = safetext.Header(resp.Header, a.key.Secret())
	k.client.transport.http1.Store(resp.ProtoMajor == 1)
	a.release()
	return a.read(resp)
}

// read reads the body of a response, at most maxBody bytes of it.
func (a *attempt) read(resp *http.Response) error {
	defer resp.Body.Close()  // an error of Close says nothing new: the body was read or is given up
	const maxBody = 10 << 20 // about 100,000 pets; the document allows 100
	size := resp.ContentLength
	if size < 0 || size > 64<<10 { // a server may announce any length: memory is taken as bytes arrive
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

// fail records why there is no whole response. ctx is the context of the request. parent is the
// context of the call from which ctx was derived.
func (k *call) fail(parent, ctx context.Context, a *attempt, err error) {
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		<-ctx.Done() // a dialer may report the deadline a moment before the context ends
	}
	a.failure, a.err = connectionFailed, wrappable(safetext.Error(err, a.key.Secret()))
	if (k.requestsSent > 0 || a.mayBeWritten) && errors.Is(err, ErrNotSent) {
		a.err = errors.New(a.err.Error()) // it must not match: the call has sent a request
	}
	switch {
	case parent.Err() != nil:
		a.failure, a.err = contextEnded, k.endReason(parent)
	case wire.IsNotHTTP(err) && a.mayBeWritten && a.outcome.StatusCode == 0:
		a.failure = notHTTP
	case ctx.Err() != nil:
		a.err = timedOut("attempt", k.config.attemptTimeout)
	case wire.IsPermanent(err), !a.mayBeWritten && errors.Is(err, ErrNotSent):
		a.failure = permanent
	}
	callerGaveUp := errors.Is(a.err, context.Canceled) || errors.Is(a.err, ErrStopped)
	if a.connection.mayBeDead() && !callerGaveUp {
		k.client.transport.suspectIdle.Store(true)
	}
}
