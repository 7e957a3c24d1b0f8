package petstore

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/petstore/petstore-go/internal/body"
	"github.com/petstore/petstore-go/internal/credential"
	"github.com/petstore/petstore-go/internal/headers"
	"github.com/petstore/petstore-go/internal/retry"
	"github.com/petstore/petstore-go/internal/wire"
)

// core is what the calls of a client know of it.
type core struct {
	shared

	key     credential.Source
	rotates bool                   // key calls the function of WithAPIKeyFunc
	used    atomic.Pointer[string] // Call.KeyID of the key that was used last, if it rotates
	http1   atomic.Bool            // the last response came over HTTP/1
	tracer  tracer
	seen    atomic.Pointer[RateLimit] // of the last response, if there is no limiter
}

// shared is what clients with different keys share; see ForKey.
type shared struct {
	clientConfig

	base      string // URL, without a trailing slash
	baseURL   *url.URL
	templates [1 + len(operations)]string // path templates, by the index of the operation
	engine    *retryablehttp.Client
	transport roundTripper   // sends the attempts
	sends     wire.Transport // what transport is
	closeIdle func()         // closes the idle connections of the client's own transport
	noCookies http.Header
	headers   http.Header // of each request
	buffers   *body.Pool
	calls     *sync.Pool // of *call
	dates     *headers.Dates
	retries   *retry.Budget
}

func newCore(s shared, key credential.Source, rotates bool) core {
	return core{shared: s, key: key, rotates: rotates, tracer: tracer{traces: s.traces}}
}

// templates returns the path templates of all operations, by their index; that of Do is first.
func templates(path string) (found [1 + len(operations)]string) {
	found[0] = path + "/{path}"
	for _, op := range operations {
		found[op.index] = path + "/pets" + op.template
	}
	return found
}

// roundTripper is a function so that no dump can print the variables that it closes over: they lead
// to connections whose buffers contain the key.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// cookies returns an empty header, to which http.Client adds the cookies of the user's jar.
func (c *core) cookies() http.Header {
	if c.engine.HTTPClient.Jar == nil {
		return c.noCookies
	}
	return make(http.Header)
}

// sawResponse records the protocol of the last response and, without a limiter, its rate limit.
func (c *core) sawResponse(protoMajor int, r RateLimit) {
	if http1 := protoMajor < 2; c.http1.Load() != http1 {
		c.http1.Store(http1)
	}
	if c.limiter == nil && !r.IsZero() {
		seen := r // copy: taking r's address would make it escape on every call
		c.seen.Store(&seen)
	}
}

// usedKeyID returns the Call.KeyID of the client's key, or of the key that it used last; empty
// before the first.
func (c *core) usedKeyID() string {
	if id := c.used.Load(); c.rotates && id != nil {
		return *id
	}
	return c.keyID()
}

// keyID returns the Call.KeyID of the client's key; empty if the key comes from WithAPIKeyFunc.
func (c *core) keyID() string {
	if c.rotates {
		return ""
	}
	key, err := c.key(nil)
	if err != nil {
		return ""
	}
	return *key.ID
}

// request is what each attempt of a call sends. It does not change.
type request struct {
	*operation

	config *callConfig
	url    url.URL
	id     int64  // of the pet that getPet asks for
	body   []byte // nil for none
}

// message returns the request for net/http, without a body.
func (r *request) message(h http.Header) http.Request {
	return http.Request{Method: r.method, URL: &r.url, Header: h}
}

// progress is how far a call has come. Other goroutines may ask for it through the context.
type progress struct {
	id      uint64
	core    *core
	request request
	ctx     valueContext // the caller's, or that of the last CallStart
	traced  *tracedCall  // nil without a trace

	attempts   atomic.Int32 // number of attempts begun
	waited     atomic.Int64 // time waited for the rate limit, in ns
	free       atomic.Int64 // time in the current Acquire that WithMaxWait does not count, in ns
	waits      atomic.Bool  // it counts in tracer.waiting
	keyRefused atomic.Bool  // the service refused the key; WithAPIKeyFunc may return another
	keyID      atomic.Pointer[string]
	asked      time.Time // when the call asked the limiter first
}

// tracedCall is what the traces of a call need.
type tracedCall struct {
	begun time.Time
	first valueContext    // of the first CallStart
	last  context.Context // of all CallStart so far; without the timeout of WithCallTimeout
}

// begin sets what does not change during a call. The URL of r has the query, and for Do the path. c
// is nil if there is no client.
func (p *progress) begin(ctx context.Context, c *core, r request, opts []CallOption) (err error) {
	switch {
	case ctx == nil:
		return argumentError(r.name, "ctx", "is nil")
	case c == nil:
		return argumentError(r.name, "Client", "was not made by NewClient")
	}
	if r.config, err = c.call.with(opts); err != nil {
		return withOperation(err, r.name)
	}
	path, query := strings.TrimSuffix(c.templates[r.index], r.template)+r.url.Path, r.url.RawQuery
	if r.operation == getPet { // with one allocation
		path = string(strconv.AppendInt(append([]byte(path), '/'), r.id, 10))
	}
	r.url = *c.baseURL
	r.url.Path, r.url.RawQuery = path, query
	p.id, p.core, p.request = rand.Uint64(), c, r
	p.ctx = valueContext{ctx, callKey{}, p}
	return nil
}

// start calls the CallStart functions, and begins the timeout of the call. The caller must call
// cancel at the end.
func (p *progress) start() (cancel context.CancelFunc) {
	if p.core.tracer.on() {
		p.traced = &tracedCall{begun: time.Now(), first: p.ctx}
		p.traced.last = &p.traced.first
		callStart(&p.traced.last, p.core.traces, p.describe())
		p.ctx.Context = p.traced.last
	}
	timeout := p.request.config.callTimeout
	if timeout == 0 {
		return func() {}
	}
	cause := errors.New("WithCallTimeout of " + timeout.String())
	p.ctx.Context, cancel = context.WithTimeoutCause(p.ctx.Context, timeout, cause)
	return cancel
}

// done calls the CallDone functions.
func (p *progress) done(err error) {
	if p.traced != nil {
		p.core.tracer.callDone(p.traced.last, CallDoneInfo{p.describe(), time.Since(p.traced.begun), err})
	}
}

func (p *progress) describe() Call {
	c := Call{
		ID:         p.id,
		KeyRefused: p.keyRefused.Load(),
		BaseURL:    p.core.base,
		Operation:  p.request.name,
		Method:     p.request.method,
		Template:   p.core.templates[p.request.index],
		Attempt:    int(p.attempts.Load()),
		Waited:     time.Duration(p.waited.Load()),
		Background: p.request.config.background,
	}
	if id := p.keyID.Load(); id != nil {
		c.KeyID = *id
	}
	return c
}

// contextEnd returns a *deadline.EndedError if the context of the call has ended, else nil.
func (p *progress) contextEnd() error { return endOf(p.ctx.Context) }

// startWait calls the WaitStart functions, and returns the function that calls the WaitDone
// functions.
func (p *progress) startWait(w Wait) (done func(free time.Duration)) {
	begun := time.Now()
	if !p.waits.Swap(true) {
		p.core.tracer.waiting.Add(1)
	}
	var ended atomic.Bool
	end := func(free time.Duration) {
		if ended.Swap(true) {
			return
		}
		p.stopWaiting()
		p.free.Add(int64(max(0, free)))
		w.Call, w.Duration = p.describe(), time.Since(begun)
		p.core.tracer.waitDone(p.ctx.Context, w)
	}
	defer func() {
		if done == nil {
			end(0) // a WaitStart panicked
		}
	}()
	w.Call, w.Duration = p.describe(), 0
	p.core.tracer.waitStart(p.ctx.Context, w)
	return end
}

// stopWaiting ends the wait of the call in LimitInfo.Waiting.
func (p *progress) stopWaiting() {
	if p.waits.Swap(false) {
		p.core.tracer.waiting.Add(-1)
	}
}

// valueContext is a context with one value, and no allocation of its own.
type valueContext struct {
	context.Context
	key, value any
}

// Value implements [context.Context].
func (c *valueContext) Value(key any) any {
	if key == c.key {
		return c.value
	}
	return c.Context.Value(key)
}

// attemptProgress is the progress when an attempt began; another attempt may have begun since.
type attemptProgress struct {
	*progress

	number    int           // within the call, starting at 1
	hadWaited time.Duration // time that the call waited for the rate limit before this attempt
	usedKey   *string       // KeyID; nil while it is not known
}

func (p *attemptProgress) describe() Call {
	c := p.progress.describe()
	c.Attempt, c.Waited = p.number, p.hadWaited
	if p.usedKey != nil {
		c.KeyID = *p.usedKey
	}
	return c
}
