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
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/petstore/petstore-go/internal/credential"
	"github.com/petstore/petstore-go/internal/safetext"
	"github.com/petstore/petstore-go/internal/wire"
	"github.com/petstore/petstore-go/ratelimit"
)

// exchange is what came of one attempt. RoundTrip fills it; nothing changes it afterwards. The next
// attempt, and the result or the error of the call, depend on nothing else.
type exchange struct {
	key     credential.Key
	sent    bool              // the request may have been written
	outcome ratelimit.Outcome // of the request, for the limiter: the status and the times, for example
	header  http.Header       // of the response, without the key
	body    []byte            // of the response, or its start
	success bool              // the status is the documented one
	failure failure
	dead    bool      // nothing came back on a connection that had been used before
	err     error     // why there is no whole response; nil if there is one
	retryAt time.Time // when a 429 allows the next request; zero if that is not known
	reason  ratelimit.Reason
	// loopWaits says that no limiter waits until retryAt, so that the loop must do that.
	loopWaits bool
}

// failure is why an attempt has no whole response.
type failure uint8

const (
	none       failure = iota
	refused            // nothing was passed to the transport: no key, no permit, or the context had ended
	ended              // the context of the call has ended
	connection         // another attempt may succeed
	permanent          // another attempt would fail in the same way
	notHTTP            // the response is not HTTP
	tooLarge           // the body is larger than maxBody
)

// succeeded reports whether there is a whole response with the documented status.
func (x *exchange) succeeded() bool { return x.success && x.failure == none }

// was reports whether there is a response with that status; x may be nil.
func (x *exchange) was(status int) bool { return x != nil && x.outcome.StatusCode == status }

// errSameKey is the reason of an attempt after a 401 if there is no other key.
var errSameKey = errors.New("petstore: there is no other key")

// RoundTrip makes one attempt: key, permit, request, whole response. It implements
// [http.RoundTripper] for the loop of the call.
func (k *call) RoundTrip(loop *http.Request) (*http.Response, error) {
	k.endPause()
	x := &exchange{}
	k.previous, k.last = k.last, x
	if k.previous != nil && k.previous.dead {
		k.client.CloseIdleConnections() // once more: a stream of HTTP/2 ends a moment after its request
	}
	k.info.Attempt++
	permit, err := k.admit(loop.Context(), x)
	if err != nil {
		x.failure, x.err = refused, err
		return nil, err
	}
	ctx := loop.Context()
	if k.isWrite() {
		ctx = k.ctx // WithStop lets writes finish
	}
	k.send(ctx, loop.URL, permit, x)
	if x.err != nil {
		return nil, x.err
	}
	return &http.Response{StatusCode: x.outcome.StatusCode, Header: x.header, Body: http.NoBody, Request: loop}, nil
}

// noWait is more time than it takes, even on a busy machine, to get a permit that is there at once.
const noWait = 10 * time.Millisecond

// admit gets the key and a permit for it, which is nil without a limiter. If that took a while, it
// asks for the key again; another key needs a permit of its own.
func (k *call) admit(ctx context.Context, x *exchange) (ratelimit.Permit, error) {
	key, err := k.key(ctx)
	for err == nil {
		if k.previous.was(http.StatusUnauthorized) && *k.previous.key.ID == *key.ID {
			return nil, errSameKey
		}
		x.key, k.info.KeyID = key, *key.ID
		k.client.used.Store(key.ID)
		asked := time.Now()
		permit, refusal := k.acquire(ctx)
		waited := time.Since(asked)
		k.config.maxWait -= waited
		if refusal != nil || waited < noWait {
			return permit, refusal
		}
		key, err = k.key(ctx) // also checks whether the call has ended during the wait
		if err == nil && *key.ID == *x.key.ID {
			return permit, nil
		}
		if permit != nil {
			permit.Release(ratelimit.Outcome{})
		}
	}
	return nil, err
}

// key returns the key for the next request, or why there must not be one. The function of
// WithAPIKeyFunc has as much time as an attempt.
func (k *call) key(ctx context.Context) (credential.Key, error) {
	if err := k.ended(ctx); err != nil {
		return credential.Key{}, err
	}
	if k.config.keyFunc == nil {
		return k.client.key, nil
	}
	limited, cancel := k.limit(ctx, time.Now())
	defer cancel()
	key, err := credential.From(k.describe(limited), k.config.keyFunc)
	if err == nil {
		return key, nil
	}
	if cause := k.ended(ctx); cause != nil {
		return key, cause
	}
	return key, &keyError{cmp.Or(k.ended(limited), foreign(err, context.Canceled, context.DeadlineExceeded))}
}

// acquire gets a permit from the limiter, if there is one.
func (k *call) acquire(ctx context.Context) (ratelimit.Permit, error) {
	if k.config.limiter == nil {
		return nil, nil
	}
	r := ratelimit.Request{
		Key: k.info.KeyID, Background: k.config.background, MaxWait: max(0, k.config.maxWait), Asked: k.started,
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
	cause := k.ended(ctx)
	if refusal, ok := errors.AsType[*ratelimit.Error](err); ok && !errors.Is(cause, ErrStopped) {
		e := *refusal
		e.Err = cmp.Or(cause, foreign(e.Err, context.Canceled, context.DeadlineExceeded))
		return nil, &e
	}
	return nil, cmp.Or(cause, foreign(err, context.Canceled, context.DeadlineExceeded))
}

// limit returns a context for an attempt that began at some time. It ends with the attempt's
// timeout: the shorter of WithAttemptTimeout and the Timeout of the http.Client.
func (k *call) limit(ctx context.Context, begun time.Time) (context.Context, context.CancelFunc) {
	d, longest := k.config.attemptTimeout, k.config.longestAttempt
	if longest > 0 && (d == 0 || longest < d) {
		d = longest
	}
	if d == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithDeadlineCause(ctx, begun.Add(d), k.timedOut("WithAttemptTimeout", d))
}

// send sends the request and reads the response into x. It releases the permit as soon as it has
// the header of the response, so that the next request need not wait for the body.
func (k *call) send(caller context.Context, u *url.URL, permit ratelimit.Permit, x *exchange) {
	begun := time.Now()
	ctx, cancel := k.limit(k.describe(caller), begun)
	defer cancel()
	release := sync.OnceFunc(func() { k.release(permit, x) })
	defer release() // if a function of the user panics
	k.attemptStart()
	x.outcome.Sent = begun
	var conn connectionState
	resp, err := k.client.transport(k.newRequest(httptrace.WithClientTrace(ctx, conn.hooks()), u, x.key))
	x.sent = conn.maySend(err)
	switch {
	case err == nil:
		defer resp.Body.Close() // its error says nothing new: the body was read to its end, or is given up
		x.outcome = ratelimit.OutcomeOf(resp, begun, time.Now())
		x.header, x.success = safetext.Header(resp.Header, x.key.Secret()), k.succeeds(resp.StatusCode)
		release()
		err = x.read(resp)
	case x.sent:
		x.outcome.Abandoned = caller.Err() != nil
	default:
		x.outcome = ratelimit.Outcome{}
	}
	if err != nil {
		k.fail(caller, ctx, x, err)
		if x.dead = conn.isDead() && !errors.Is(x.err, context.Canceled); x.dead {
			k.client.CloseIdleConnections() // the others may be dead, too; the next attempt dials
		}
	}
	release()
	if x.sent {
		k.sent++
	}
	k.attemptDone(x, begun)
}

// newRequest returns the request of an attempt.
func (k *call) newRequest(ctx context.Context, u *url.URL, key credential.Key) *http.Request {
	own := *u // a transport may change it
	r := (&http.Request{
		Method: k.method, URL: &own, Host: u.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: k.config.header.Clone(),
	}).WithContext(ctx)
	r.Header["Authorization"] = []string{key.Header()}
	if k.body != nil {
		r.Header["Content-Type"] = []string{"application/json"}
	}
	if k.isWrite() {
		// Without GetBody, and with a body that is not nil even if it is empty, net/http never repeats a
		// write. With them, it would repeat one after a PROTOCOL_ERROR, which a server may send after it
		// has carried out the request.
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
			if info.Conn != nil && info.Conn.RemoteAddr() == nil {
				s.asked.Store(false) // httputil.DumpRequestOut has a connection that leads nowhere
				return
			}
			s.got.Store(true)
			s.reused.Store(info.Reused)
		},
		GotFirstResponseByte: func() { s.answered.Store(true) },
	}
}

// maySend reports whether the request may have been written, if the transport returned err: it got
// a connection, or it never asked for one because it is none of net/http's.
func (s *connectionState) maySend(err error) bool {
	switch {
	case err == nil:
		return true
	case wire.IsUnprocessed(err):
		return false
	case s.asked.Load(), s.got.Load():
		return s.got.Load()
	}
	return !errors.Is(err, ErrNotSent) && !wire.IsDial(err)
}

// isDead reports whether nothing came back on a connection that had been used before.
func (s *connectionState) isDead() bool { return s.reused.Load() && !s.answered.Load() }

// release releases the permit, and keeps what the limiter says about a 429.
func (k *call) release(permit ratelimit.Permit, x *exchange) {
	if permit != nil {
		lockout := permit.Release(x.outcome)
		x.retryAt, x.reason = lockout.Until, lockout.Reason
	} else if !x.outcome.Window.IsZero() {
		window := x.outcome.Window
		k.client.lastLimit.Store(&window)
	}
	if x.was(http.StatusTooManyRequests) && !x.retryAt.After(x.outcome.Received) {
		x.retryAt, x.loopWaits = opensAfter(&x.outcome), true
	}
}

// maxBody is the most that is read of a body, in bytes. It holds about 100,000 pets; the document
// allows 100.
const maxBody = 10 << 20

// read reads the body of a response.
func (x *exchange) read(resp *http.Response) error {
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
	switch cause := k.ended(caller); {
	case cause != nil:
		x.failure, x.err = ended, cause
		if x.sent && errors.Is(cause, context.DeadlineExceeded) { // the service may have been slow
			x.err = fmt.Errorf("no response after %v: %w", time.Since(x.outcome.Sent).Round(time.Millisecond), cause)
		}
		return
	case wire.IsNotHTTP(err) && x.sent && !x.success:
		x.failure = notHTTP
	case ctx.Err() != nil:
		x.failure, x.err = connection, k.ended(ctx)
		return
	case wire.IsNotHTTP(err), wire.IsPermanent(err), !x.sent && errors.Is(err, ErrNotSent):
		x.failure = permanent
	default:
		x.failure = connection
	}
	x.err = foreign(safetext.Error(err, x.key.Secret()), context.Canceled, context.DeadlineExceeded)
	if k.sent > 0 || x.sent {
		x.err = foreign(x.err, ErrNotSent) // it is about this attempt alone
	}
}
