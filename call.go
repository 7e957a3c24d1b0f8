package petstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/petstore/petstore-go/internal/body"
	"github.com/petstore/petstore-go/internal/deadline"
	"github.com/petstore/petstore-go/internal/retry"
	"github.com/petstore/petstore-go/internal/safetext"
)

// call is one API call with all its attempts. CONTRIBUTING.md has its way through the files.
//
// Except for its progress, a call does not change once it has begun: other goroutines may ask for
// it through the context.
type call struct {
	client    *Client
	operation *operation
	config    *callConfig
	url       url.URL
	body      []byte // nil for none
	progress  progress
	loop      loop
	first     attempt // saves an allocation: most calls have one attempt

	begun  time.Time
	traced context.Context // of the last CallStart; without the timeout of WithCallTimeout
	ctx    context.Context // of the requests: the caller's, with the call in it
	waits  context.Context // of the waits: ctx, which WithStop ends as well
}

// progress is how far a call has come.
type progress struct {
	mu   sync.Mutex
	seen Call // what other goroutines read; only the goroutine of the call changes it

	free     time.Duration // time in the current Acquire that WithMaxWait does not count
	asked    time.Time     // when the call asked the limiter first
	last     *attempt      // nil before the first
	sent     int           // requests that may have been written
	plan     retry.Plan    // what to do after the last attempt
	refused  error         // why the next attempt was not begun
	askedKey bool          // after a 401, WithAPIKeyFunc was asked for another key
	ended    error         // why the call must not send anything more
	endPause func()        // ends the report of the pause before the next attempt; nil without one
}

// request is what an operation asks for.
type request struct {
	operation *operation
	path      string // below the base URL, unescaped, with a slash at its start; empty for the template
	rawPath   string // path as the caller escaped it; empty if that is what net/url does
	query     string
	body      []byte // nil for none
}

// errPanicked is the error in CallDoneInfo and AttemptDoneInfo after a panic.
var errPanicked = errors.New("petstore: the call panicked")

// perform makes a call of c. It decodes the body of the documented success, unless decode is nil;
// all else is an error.
func perform[T any](
	ctx context.Context, c *Client, r request, opts []CallOption, decode func(*body.Buffer) (T, error),
) (value T, response Response, err error) {
	k, err := newCall(ctx, c, r, opts)
	if err != nil {
		return value, response, err
	}
	err = errPanicked // callDone reports it if the code below panics
	defer func() { k.done(err) }()
	defer k.start()()
	if err = k.run(); err == nil {
		value, response, err = decodeResponse(k, decode)
	}
	if last := k.progress.last; last != nil && !last.guard.Abandoned() { // else it may still be written to
		c.shared.buffers.Put(last.buffer)
	}
	return value, response, err
}

// newCall returns a call that has not begun.
func newCall(ctx context.Context, c *Client, r request, opts []CallOption) (*call, error) {
	switch {
	case ctx == nil:
		return nil, argumentError(r.operation.name, "ctx", "is nil")
	case c == nil || c.shared == nil:
		return nil, argumentError(r.operation.name, "Client", "was not made by NewClient")
	}
	config := &c.shared.config.call
	if len(opts) > 0 {
		changed := &clientConfig{call: *config}
		if err := apply(changed, opts); err != nil {
			return nil, withOperation(err, r.operation.name)
		}
		config = &changed.call
	}
	k := &call{client: c, operation: r.operation, config: config, url: *c.shared.baseURL, body: r.body, ctx: ctx}
	k.progress.seen = Call{
		ID: rand.Uint64(), BaseURL: c.shared.base, Operation: r.operation.name, Method: r.operation.method,
		Template: k.url.Path + r.operation.template, Background: config.background,
	}
	if r.rawPath != "" {
		k.url.RawPath = k.url.EscapedPath() + r.rawPath
	}
	k.url.RawQuery = r.query
	if k.url.Path += r.path; r.path == "" {
		k.url.Path = k.progress.seen.Template
	}
	return k, nil
}

// start calls the CallStart functions, and begins the timeout of the call. The caller must call
// cancel at the end.
func (k *call) start() context.CancelFunc {
	k.ctx = context.WithValue(k.ctx, callKey{}, k)
	if traces := k.client.traces; len(traces) > 0 {
		k.begun, k.traced = time.Now(), k.ctx
		callStart(&k.traced, traces, k.describe())
		k.ctx = context.WithValue(k.traced, callKey{}, k) // the functions may return any context
	}
	cancel := func() {}
	if timeout := k.config.callTimeout; timeout > 0 {
		cause := &timeoutError{"WithCallTimeout of " + timeout.String()}
		k.ctx, cancel = context.WithTimeoutCause(k.ctx, timeout, cause)
	}
	stop := k.client.shared.config.stop
	if k.waits = k.ctx; stop.Done() == nil {
		return cancel
	}
	waits, cancelWaits := context.WithCancelCause(k.ctx)
	k.waits = waits
	forget := context.AfterFunc(stop, func() { cancelWaits(ErrStopped) })
	return func() { forget(); cancelWaits(nil); cancel() }
}

// done calls the CallDone functions.
func (k *call) done(err error) {
	if k.traced != nil {
		info := CallDoneInfo{k.describe(), time.Since(k.begun), err}
		k.client.eachTrace(func(t *ClientTrace) {
			if t.CallDone != nil {
				t.CallDone(k.traced, info)
			}
		})
	}
}

func decodeResponse[T any](k *call, decode func(*body.Buffer) (T, error)) (value T, response Response, err error) {
	a := k.progress.last
	switch {
	case decode == nil, a.response.StatusCode == http.StatusNoContent:
		return value, k.response(), nil
	case len(a.body) == 0: // the decoder would report no more than EOF
		return value, response, k.responseError("body is empty", nil)
	}
	// The header in which the key is replaced decides nothing: the key may be a usual word.
	if reason := body.MediaTypeProblem(a.raw); reason != "" {
		return value, response, k.responseError(safetext.Redact(reason, a.key.Secret()), nil)
	}
	if value, err = decode(a.buffer); err != nil {
		// Without the error itself: the decoder quotes names from the body, which may be long and
		// contain anything.
		text := safetext.Line(safetext.Redact(err.Error(), a.key.Secret()))
		return value, response, k.responseError("body", errors.New(text))
	}
	return value, k.response(), nil
}

func (k *call) response() Response {
	a := k.progress.last
	return Response{a.response.StatusCode, a.header, a.response.Window, k.progress.sent}
}

// describe returns the call as users see it.
func (k *call) describe() Call {
	p := &k.progress
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen
}

// record changes what describe returns.
func (p *progress) record(change func(seen *Call)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.seen)
}

// ended returns an error if the call must not send anything more: its context has ended, or that of
// WithStop.
func (k *call) ended() error {
	p := &k.progress
	if p.ended == nil {
		p.ended = endOf(k.ctx)
	}
	if stop := k.client.shared.config.stop; p.ended == nil && stop.Err() != nil {
		p.ended = fmt.Errorf("%w: %w", ErrStopped, foreign(context.Cause(stop)))
	}
	return p.ended
}

// concluding are the errors that say something about a call, and about the end of its context. Only
// its own errors match them.
var concluding = [...]error{
	ErrOutcomeUnknown, ErrNotSent, ErrStopped, ErrTimeout, context.Canceled, context.DeadlineExceeded,
}

// endOf returns an error if ctx has ended, else nil. Its cause may be the error of another call,
// which says nothing about this one; but it may be that of WithCallTimeout.
func endOf(ctx context.Context) error { return deadline.EndOf(ctx, concluding[:3]...) }
