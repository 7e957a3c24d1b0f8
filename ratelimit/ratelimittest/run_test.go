package ratelimittest

import (
	"context"
	"flag"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/petstore/petstore-go/ratelimit"
)

// TestMain lets all rules run at once in real time: they only wait, and need no processor time.
func TestMain(m *testing.M) {
	flag.Parse()
	_ = flag.Set("test.parallel", strconv.Itoa(len(rules)))
	goleak.VerifyTestMain(m)
}

func TestRun(t *testing.T) { Run(t, func(*testing.T) Limiter { return ratelimit.New() }) }

func TestRunRealTime(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	RunRealTime(t, func(*testing.T) Limiter { return ratelimit.New() })
}

// changed is a limiter that alters requests or outcomes.
type changed struct {
	*ratelimit.Limiter
	request func(ctx *context.Context, r *ratelimit.Request)
	outcome func(o *ratelimit.Outcome)
}

func (c changed) Acquire(ctx context.Context, r ratelimit.Request) (ratelimit.Permit, error) {
	if c.request != nil {
		c.request(&ctx, &r)
	}
	p, err := c.Limiter.Acquire(ctx, r)
	if err == nil && c.outcome != nil {
		p = permit{p, c.outcome}
	}
	return p, err
}

type permit struct {
	ratelimit.Permit
	outcome func(o *ratelimit.Outcome)
}

func (p permit) Release(o ratelimit.Outcome) ratelimit.Lockout {
	p.outcome(&o)
	return p.Permit.Release(o)
}

// asks returns a limiter that alters requests.
func asks(change func(r *ratelimit.Request)) changed {
	return changed{request: func(_ *context.Context, r *ratelimit.Request) { change(r) }}
}

// slow returns a limiter with which each request waits for d. The limiter reports each wait.
func slow(d time.Duration) changed {
	return asks(func(r *ratelimit.Request) {
		r.Observer.WaitStart(ratelimit.Wait{Reason: "pace"})
		<-time.After(d)
		r.Observer.WaitDone(ratelimit.Wait{Reason: "pace", Duration: d})
	})
}

func TestRunSlow(t *testing.T) {
	limiter := slow(10 * time.Millisecond)
	Run(t, func(*testing.T) Limiter { limiter.Limiter = ratelimit.New(); return limiter })
}

// slowIfHurried returns a limiter with which a request waits for d if its MaxWait is 0.
func slowIfHurried(d time.Duration) changed {
	return asks(func(r *ratelimit.Request) {
		if r.MaxWait == 0 {
			<-time.After(d)
		}
	})
}

// noisy is an observer that is told of each lockout twice.
type noisy struct{ ratelimit.Observer }

func (n noisy) LimitClosed(l ratelimit.Lockout) {
	n.Observer.LimitClosed(l)
	n.Observer.LimitClosed(l)
}

// The first limiter breaks the first rule, and so on. The check of that rule must fail.
func TestRunWrong(t *testing.T) {
	all := []changed{
		{outcome: func(o *ratelimit.Outcome) { o.Window.Remaining += 2 }},
		{outcome: func(o *ratelimit.Outcome) { o.Sent = time.Now() }},
		{outcome: func(o *ratelimit.Outcome) { o.Sent, o.Window.Reset = time.Now(), time.Now().Add(time.Minute) }},
		slowIfHurried(200 * time.Millisecond),
		{outcome: func(o *ratelimit.Outcome) { o.RetryAfter /= 2 }},
		asks(func(r *ratelimit.Request) { r.MaxWait = 24 * time.Hour }),
		slowIfHurried(2 * time.Second),
		asks(func(r *ratelimit.Request) { r.Key = "another" }),
		asks(func(r *ratelimit.Request) { r.Key = "" }),
		asks(func(r *ratelimit.Request) { r.Asked = time.Time{} }),
		asks(func(r *ratelimit.Request) { r.Background = false }),
		asks(func(r *ratelimit.Request) { r.NotBefore = time.Time{} }),
		{request: func(ctx *context.Context, _ *ratelimit.Request) { *ctx = context.WithoutCancel(*ctx) }},
		asks(func(r *ratelimit.Request) { r.Observer = nil }),
		asks(func(r *ratelimit.Request) { r.Observer = noisy{r.Observer} }),
	}
	require.Len(t, all, len(rules))
	for i, wrong := range all {
		t.Run(rules[i][0], func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				wrong.Limiter = ratelimit.New()
				assert.NotEmpty(t, newScript(t, wrong, 50*time.Millisecond).Perform(rules[i][1]))
			})
		})
	}
}
