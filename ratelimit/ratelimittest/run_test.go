package ratelimittest

import (
	"context"
	"flag"
	"net/http"
	"slices"
	"strconv"
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
	if err := flag.Set("test.parallel", strconv.Itoa(len(rules()))); err != nil {
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

// wrong is a limiter with one mistake.
type wrong struct {
	*ratelimit.Limiter
	request func(w *wrong, r *ratelimit.Request)
	outcome func(w *wrong, o *ratelimit.Outcome)
	reopen  func(w *wrong, key string)
	ctx     func(ctx context.Context) context.Context
	asked   time.Time // of the last request
}

func (w *wrong) Acquire(ctx context.Context, r ratelimit.Request) (ratelimit.Permit, error) {
	if w.request != nil {
		w.request(w, &r)
	}
	if w.ctx != nil {
		ctx = w.ctx(ctx)
	}
	p, err := w.Limiter.Acquire(ctx, r)
	if err != nil {
		return nil, err
	}
	return wrongPermit{p, w}, nil
}

func (w *wrong) Reopen(key string) {
	if w.reopen == nil {
		w.Limiter.Reopen(key)
	}
}

// wrongPermit is the permit of a wrong limiter.
type wrongPermit struct {
	ratelimit.Permit
	wrong *wrong
}

func (p wrongPermit) Release(o ratelimit.Outcome) ratelimit.Lockout {
	if p.wrong.outcome != nil {
		p.wrong.outcome(p.wrong, &o)
	}
	return p.Permit.Release(o)
}

// noisy is an observer that is told of each lockout twice.
type noisy struct{ ratelimit.Observer }

func (n noisy) LimitClosed(l ratelimit.Lockout) {
	n.Observer.LimitClosed(l)
	n.Observer.LimitClosed(l)
}

// careful is an observer whose panics go no further.
type careful struct{ ratelimit.Observer }

func (c careful) WaitDone(w ratelimit.Wait) {
	defer func() { _ = recover() }()
	c.Observer.WaitDone(w)
}

// Each wrong limiter fails the rule that it breaks.
func TestRunWrong(t *testing.T) {
	succeeds := func(o *ratelimit.Outcome) bool { return o.StatusCode == http.StatusOK }
	for _, test := range []struct {
		wrong wrong
		fails string
	}{
		{wrong{outcome: func(_ *wrong, o *ratelimit.Outcome) { o.RetryAfter /= 2 }},
			"nothing is admitted after a 429 before its time"},
		{wrong{outcome: func(w *wrong, o *ratelimit.Outcome) {
			if succeeds(o) {
				w.Limiter.Reopen("")
			}
		}}, "nothing is admitted after a 429 while permits are out, whatever their responses"},
		{wrong{request: func(_ *wrong, r *ratelimit.Request) { r.Key = "" }}, "keys never meet"},
		{wrong{request: func(_ *wrong, r *ratelimit.Request) { r.MaxWait = 24 * time.Hour }},
			"a request is refused at once if its wait would be too long"},
		{wrong{reopen: func(*wrong, string) {}}, "Reopen lets one request go, and its success opens the key"},
		{wrong{outcome: func(_ *wrong, o *ratelimit.Outcome) { o.Sent = time.Now() }},
			"a permit of a request that was not sent is free again, once"},
		{wrong{outcome: func(_ *wrong, o *ratelimit.Outcome) {
			if o.Received.IsZero() {
				*o = ratelimit.Outcome{}
			}
		}}, "a request without a response counts"},
		{wrong{outcome: func(_ *wrong, o *ratelimit.Outcome) { o.Window.Remaining += 2 }}, "one permit is one request"},
		{wrong{request: func(w *wrong, r *ratelimit.Request) { // last come, first served
			w.asked = time.Unix(1<<30, 0).Add(-time.Duration(w.asked.Nanosecond() + 1))
			r.Asked = w.asked
		}}, "first come, first served"},
		{wrong{request: func(_ *wrong, r *ratelimit.Request) { r.Asked = time.Time{} }}, "a request that is tried again keeps its place"},
		{wrong{request: func(_ *wrong, r *ratelimit.Request) { r.Background = false }}, "background requests go last"},
		{wrong{request: func(_ *wrong, r *ratelimit.Request) { r.NotBefore = time.Time{} }},
			"no request goes before its NotBefore, and others do"},
		{wrong{ctx: context.WithoutCancel}, "a wait ends with its context, and the next one goes"},
		{wrong{request: func(_ *wrong, r *ratelimit.Request) { r.Observer = nil }}, "each wait is reported once"},
		{wrong{request: func(_ *wrong, r *ratelimit.Request) { r.Observer = noisy{r.Observer} }}, "a lockout is reported once, and its end"},
		{wrong{request: func(_ *wrong, r *ratelimit.Request) { r.Observer = careful{r.Observer} }}, "a panic in WaitDone loses no permit"},
	} {
		t.Run("against "+test.fails, func(t *testing.T) {
			all := rules()
			i := slices.IndexFunc(all, func(r rule) bool { return r.name == test.fails })
			synctest.Test(t, func(t *testing.T) {
				limiter := test.wrong
				limiter.Limiter = ratelimit.New()
				c := &client{Limiter: &limiter, ctx: t.Context(), patience: time.Hour, idle: synctest.Wait}
				all[i].check(c)
				assert.NotEmpty(t, c.problems)
			})
		})
	}
}
