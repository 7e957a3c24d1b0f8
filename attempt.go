package petstore

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/petstore/petstore-go/internal/body"
	"github.com/petstore/petstore-go/internal/credential"
	"github.com/petstore/petstore-go/internal/retry"
	"github.com/petstore/petstore-go/internal/safetext"
	"github.com/petstore/petstore-go/internal/wire"
	"github.com/petstore/petstore-go/ratelimit"
)

// attempt is one attempt of a call: the key, a permit of the limiter, one request, and its whole
// response. Only its outcome is kept when it is over.
type attempt struct {
	outcome

	call *call
	// permit is the permit of the limiter; nil without a limiter, and once it is released.
	permit ratelimit.Permit
	// ready is when the attempt got its permit: the attempt's timeout and all durations that are
	// reported begin then.
	ready   time.Time
	wire    wire.Record
	request http.Request
	// url is that of this request alone, since a transport may change it.
	url url.URL
	// values has the values of the request's header, which need no allocation of their own.
	values [4]string
}

// The reasons of an attempt that sends nothing.
var (
	errSameKey = errors.New("petstore: there is no other key")
	errTooLate = errors.New("after the wait, less time is left than responses take")
)

// noWait is more time than it takes, even on a busy machine, to get a key and a permit that are there
// at once. A call that took longer has waited.
const noWait = 10 * time.Millisecond

// attempt makes one attempt, and plans what follows it.
func (k *call) attempt() *outcome {
	a := &k.first
	if k.last != nil {
		a = &attempt{outcome: outcome{previous: k.last, askedAgain: k.last.askedAgain || k.last.unauthorized()}}
	}
	a.call = k
	if a.refused = a.admit(); a.refused != nil {
		return &a.outcome
	}
	if p := a.previous; p != nil {
		// There may be very many attempts, and nothing needs the bodies of the earlier ones any more.
		k.client.shared.buffers.Put(p.body)
		p.body, p.previous = nil, nil
	}
	a.send()
	if a.Sent {
		k.sent++
	}
	a.unknown = !k.operation.repeatable && a.MayBeDone()
	if refused := a.unauthorized(); refused != k.info.KeyRefused {
		k.change(func(c *Call) { c.KeyRefused = refused })
	}
	a.plan = k.plan(&a.outcome)
	return &a.outcome
}

// admit waits until the request may be sent: it gets the key, and a permit of the limiter. After an
// error there is no permit.
func (a *attempt) admit() (err error) {
	k := a.call
	if ended := k.endReason(); ended != nil {
		return ended
	}
	start := time.Now()
	if k.asked.IsZero() {
		k.asked = start
	}
	if a.key, err = k.getKey(); err != nil {
		return err
	}
	if last := a.previous; last != nil && last.unauthorized() && *last.key.ID == *a.key.ID {
		return errSameKey
	}
	k.client.used.Store(a.key.ID)
	// The key ID comes before the limiter, which may report about the key.
	k.change(func(c *Call) { c.KeyID = *a.key.ID })
	if k.client.config.keyFunc != nil { // to get a key has taken time, too
		start = time.Now()
	}
	if err := a.acquire(); err != nil {
		return err
	}
	a.ready = time.Now()
	k.change(func(c *Call) {
		c.Attempt++
		c.Waited += max(0, a.ready.Sub(start)) // also if the limiter does not report its wait
	})
	// The call may have ended at the very moment at which the permit came. And only a call that has
	// waited may find too little time left for its request.
	ended := k.endReason()
	waited, latest := a.ready.Sub(k.asked) > noWait, k.latest()
	if ended == nil && waited && !latest.IsZero() && a.ready.After(latest) {
		ended = errTooLate
	}
	if ended != nil {
		a.release()
	}
	return ended
}

// getKey returns the key of the next attempt. The function of WithAPIKeyFunc gets a context with
// the same values and the same timeout as that of an attempt.
func (k *call) getKey() (credential.Key, error) {
	if k.client.config.keyFunc == nil {
		return k.client.key, nil
	}
	c := k.describe()
	c.Attempt++
	ctx, cancel := k.limit(context.WithValue(k.waits, callKey{}, &c), time.Now())
	defer cancel()
	key, err := credential.From(ctx, k.client.config.keyFunc)
	if ended := k.endReason(); err != nil && ended != nil {
		return key, ended
	}
	switch {
	case err == nil:
		return key, nil
	case hasEnded(ctx):
		return key, &keyError{k.attemptTimedOut()}
	}
	return key, &keyError{foreign(err)}
}

// acquire gets a permit from the limiter.
func (a *attempt) acquire() error {
	k, limiter := a.call, a.call.client.config.limiter
	if limiter == nil {
		return nil
	}
	r := ratelimit.Request{
		Key: *a.key.ID, Background: k.config.background, MaxWait: k.config.maxWait - k.info.Waited,
		Asked: k.asked, Observer: k,
	}
	if latest := k.latest(); !latest.IsZero() && !k.operation.repeatable {
		r.MaxWait = min(r.MaxWait, time.Until(latest))
	}
	if a.previous != nil {
		r.NotBefore = a.previous.plan.NotBefore
	}
	r.MaxWait = max(0, r.MaxWait)
	permit, err := limiter.Acquire(k.waits, r)
	if wire.IsNil(err) {
		a.permit = permit
		return nil
	}
	if permit != nil {
		// A Limiter should return no permit with an error; if it does, the permit must not stay reserved.
		permit.Release(ratelimit.Outcome{})
	}
	if _, ok := errors.AsType[*ratelimit.Error](err); ok {
		return err
	}
	return cmp.Or(k.endReason(), foreign(err))
}

// release releases the permit and reports the outcome of the request, once.
func (a *attempt) release() {
	if permit := a.permit; permit != nil {
		a.permit = nil
		lockout := permit.Release(a.limits)
		a.opens, a.scope = lockout.Until, lockout.Reason
	}
}

// send sends the request and reads the response. It releases the permit as soon as it has the
// header of the response, so that the next request need not wait for the body.
func (a *attempt) send() {
	k := a.call
	ctx, cancel := k.limit(k.ctx, a.ready)
	defer cancel()
	// These two also run if a function of the user panics.
	defer a.attemptDone()
	defer a.release()
	a.err = errPanicked
	k.attemptStart()
	ctx = a.wire.Watch(ctx, cancel, &k.client.shared.sends)
	a.newRequest(ctx)
	// From here on the request counts as sent.
	a.limits.Sent = a.ready
	// The body of the response is closed by receive.
	resp, err := wire.CheckResponse(k.client.shared.transport(&a.request))
	a.Sent = a.wire.MayHaveSent(err, errors.Is(err, ErrNotSent))
	switch {
	case err == nil:
		err = a.receive(ctx, resp)
	case a.Sent:
		a.limits.Abandoned = hasEnded(k.ctx)
	default:
		a.limits = ratelimit.Outcome{}
	}
	if a.err = nil; err != nil {
		a.fail(ctx, err)
	}
}

// newRequest makes the request of the attempt, with the key, and with a body that records whether it
// was read.
func (a *attempt) newRequest(ctx context.Context) {
	k, req := a.call, &a.request
	*req = *req.WithContext(ctx)
	a.url = k.request.url(k.client.shared.baseURL)
	req.Method, req.URL, req.Host = k.operation.method, &a.url, a.url.Host
	req.Proto, req.ProtoMajor, req.ProtoMinor = "HTTP/1.1", 1, 1 // as of http.NewRequest
	a.wire.SetBody(req, k.body)
	// A transport may change or keep the values, so this request shares them with no other.
	a.values = [...]string{"application/json", k.client.userAgent, a.key.Header(), "application/json"}
	req.Header = make(http.Header, len(a.values)+len(k.config.header))
	req.Header["Accept"] = a.values[0:1:1]
	req.Header["User-Agent"] = a.values[1:2:2]
	req.Header["Authorization"] = a.values[2:3:3]
	if k.body != nil {
		req.Header["Content-Type"] = a.values[3:4:4]
	}
	for name, values := range k.config.header {
		req.Header[name] = slices.Clone(values)
	}
}

// receive reads the response. The header of the outcome is a copy without the key, since the
// transport may share its own with other requests. The copy is made before the body is read: if the
// body's reader panics, the traces still see no key.
func (a *attempt) receive(ctx context.Context, resp *http.Response) error {
	k, shared := a.call, a.call.client.shared
	// The body was read to its end, or is given up: an error of Close would say nothing new.
	defer func() { _ = resp.Body.Close() }()
	a.limits = ratelimit.OutcomeOf(resp, a.ready, time.Now())
	a.Status, a.Success = resp.StatusCode, k.operation.succeeds(resp.StatusCode)
	shared.usual.add(a.limits.Received.Sub(a.ready))
	if a.release(); a.Status == http.StatusTooManyRequests && !a.opens.After(a.limits.Received) {
		a.opens, a.unlimited = opensAfter(&a.limits), true
	}
	if a.Success { // the copy could lack a part of the media type, if the key happens to be an ordinary word
		a.mediaType = body.MediaTypeProblem(resp.Header)
	}
	a.header = safetext.Header(resp.Header, a.key.Secret())
	if k.client.config.limiter == nil && !a.limits.Window.IsZero() {
		// This is a copy: the address of the field would keep the whole attempt in memory.
		window := a.limits.Window
		k.client.lastLimit.Store(&window)
	}
	// The buffer comes late, so that calls that wait for a response hold none.
	a.body = shared.buffers.Get()
	var err error
	a.tooLarge, err = a.body.Fill(ctx, resp.Body, resp.ContentLength, k.client.config.maxResponseBytes)
	return err
}

// fail records the error of the transport, or of reading the body, without the key.
func (a *attempt) fail(ctx context.Context, err error) {
	k := a.call
	a.Failure = retry.Connection
	ended := a.callerError()
	switch {
	case ended != nil:
		a.err, a.ended = ended, true
	case a.wire.Repeated():
		a.err, a.stale = wire.ErrNotRepeated, true
		k.client.CloseIdleConnections() // all of them may be dead, and a call has few attempts
	// Only the attempt's own timeout ends ctx here: another one, such as a dialer's, is an error like
	// others. A server that does not speak HTTP is no timeout, however late it was: another attempt
	// does not help.
	case hasEnded(ctx) && !wire.NotHTTP(err):
		a.err = k.attemptTimedOut()
	default:
		if a.Status == 0 { // with a status, the error has only cut off the body
			a.Failure = wire.KindOf(err, a.Sent)
		}
		if !a.Sent && errors.Is(err, ErrNotSent) { // see WithTransport
			a.Failure = retry.Permanent
		}
		a.err = foreign(safetext.Error(wire.Cause(err), a.key.Secret()))
	}
}
