package ratelimittest

import (
	"context"
	"flag"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"

	"github.com/petstore/petstore-go/ratelimit"
)

// TestMain lets all rules run at once in real time: they only wait, and need no processors.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", strconv.Itoa(len(rules))); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

func TestRun(t *testing.T) {
	Run(t, func(*testing.T) Limiter { return ratelimit.New() })
}

func TestRunRealTime(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	RunRealTime(t, func(*testing.T) Limiter { return ratelimit.New() })
}

// changed is a limiter that changes what it is asked for, and what it is told.
type changed struct {
	*ratelimit.Limiter
	request func(r *ratelimit.Request)
	outcome func(c *changed, o *ratelimit.Outcome)
	ctx     func(ctx context.Context) context.Context
	closed  bool // Reopen has no effect
}

func (c *changed) Acquire(ctx context.Context, r ratelimit.Request) (ratelimit.Permit, error) {
	if c.request != nil {
		c.request(&r)
	}
	if c.ctx != nil {
		ctx = c.ctx(ctx)
	}
	p, err := c.Limiter.Acquire(ctx, r)
	if err != nil {
		return nil, err
	}
	return permit{p, c}, nil
}

func (c *changed) Reopen(key string) {
	if !c.closed {
		c.Limiter.Reopen(key)
	}
}

// permit is the permit of a changed limiter.
type permit struct {
	ratelimit.Permit
	limiter *changed
}

func (p permit) Release(o ratelimit.Outcome) ratelimit.Lockout {
	if p.limiter.outcome != nil {
		p.limiter.outcome(p.limiter, &o)
	}
	return p.Permit.Release(o)
}

// slow lets each request wait, and reports it.
func slow(d time.Duration) func(r *ratelimit.Request) {
	return func(r *ratelimit.Request) {
		r.Observer.WaitStart(ratelimit.Wait{Reason: "pace"})
		<-time.After(d)
		r.Observer.WaitDone(ratelimit.Wait{Reason: "pace", Duration: d})
	}
}

func TestRunSlow(t *testing.T) {
	Run(t, func(*testing.T) Limiter {
		return &changed{Limiter: ratelimit.New(), request: slow(10 * time.Millisecond)}
	})
}

// noisy is an observer that is told of each lockout twice.
type noisy struct{ ratelimit.Observer }

func (n noisy) LimitClosed(l ratelimit.Lockout) {
	n.Observer.LimitClosed(l)
	n.Observer.LimitClosed(l)
}

// recorder records whether a test has failed.
type recorder struct {
	testing.TB
	failed atomic.Bool
}

func (r *recorder) Errorf(string, ...any) { r.failed.Store(true) }

// Each limiter that breaks a rule fails its check.
func TestRunWrong(t *testing.T) {
	wrong := map[string]changed{
		"one permit is one request, also without a response, until the window ends": {
			outcome: func(_ *changed, o *ratelimit.Outcome) { o.Window.Remaining += 2 }},
		"a permit that is released unsent is free again, once": {
			outcome: func(_ *changed, o *ratelimit.Outcome) { o.Sent = time.Now() }},
		"a late response does not raise what a later request lowered": {outcome: func(c *changed, o *ratelimit.Outcome) {
			if time.Since(o.Sent) > time.Second {
				c.Limiter = ratelimit.New()
			}
		}},
		"a request for which there is room goes at once, also with MaxWait 0": {request: slow(200 * time.Millisecond)},
		"after a 429 nothing goes before its time, whatever other responses say, and then one first": {
			outcome: func(_ *changed, o *ratelimit.Outcome) { o.RetryAfter /= 2 }},
		"a request is refused at once if a known limit lasts longer than MaxWait": {
			request: func(r *ratelimit.Request) { r.MaxWait = 24 * time.Hour }},
		"no request waits for longer than MaxWait and a second":     {request: slow(2 * time.Second)},
		"Reopen lets one request go, and its success opens the key": {closed: true},
		"keys never meet": {request: func(r *ratelimit.Request) { r.Key = "" }},
		"first come, first served, and a request that is tried again keeps its place": {
			request: func(r *ratelimit.Request) { r.Asked = time.Time{} }},
		"background requests go last, and leave a reserve to others": {
			request: func(r *ratelimit.Request) { r.Background = false }},
		"no request goes before its NotBefore, and others do": {
			request: func(r *ratelimit.Request) { r.NotBefore = time.Time{} }},
		"a context that has ended gets no permit, and the next request goes": {ctx: context.WithoutCancel},
		"each wait is reported, and its end":                                 {request: func(r *ratelimit.Request) { r.Observer = nil }},
		"a lockout is reported once, and its end": {
			request: func(r *ratelimit.Request) { r.Observer = noisy{r.Observer} }},
	}
	assert.Len(t, wrong, len(rules))
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				limiter, tb := wrong[r.name], &recorder{TB: t}
				limiter.Limiter = ratelimit.New()
				r.check(&client{&limiter, tb, 50 * time.Millisecond})
				assert.True(t, tb.failed.Load())
			})
		})
	}
}
