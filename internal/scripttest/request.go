package scripttest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/petstore/petstore-go/ratelimit"
)

type permit struct {
	ratelimit.Permit
	sent   time.Time
	number int // of the request, counted from 1
}

// ask begins as many requests together as the number in the step says, or one.
func (s *Script) ask(r ratelimit.Request) {
	n := append(s.Numbers, 1)[0]
	s.Waiting += n
	s.Refused = nil
	s.opensAfter(r.NotBefore)
	r.Key = s.Key
	for range n {
		ctx, cancel := context.WithCancelCause(s.Ctx)
		s.cancels = append(s.cancels, cancel)
		go s.acquire(ctx, len(s.cancels), s.Process, r)
	}
}

func (s *Script) acquire(ctx context.Context, number int, p *Process, r ratelimit.Request) {
	o := &observer{Script: s, process: p, holdUp: s.HoldUp}
	r.Observer = o
	got, err := p.Acquire(ctx, r)
	now := s.Now()
	s.events <- func() {
		s.Waiting--
		s.must(o.waits == 0, "Acquire returned, but WaitDone was not called once for each WaitStart")
		if err == nil && got != nil {
			s.given++
			p.Permits = append(p.Permits, permit{got, now, number})
			return
		}
		refused, ok := errors.AsType[*ratelimit.Error](err)
		if s.must(ok, "Acquire returned the error %v, not a permit or a *ratelimit.Error", err); !ok {
			return
		}
		s.Refused = refused
		s.must(errors.Is(refused.Err, ctx.Err()) && errors.Is(refused.Err, context.Cause(ctx)),
			"the Err of the error is %v; the context has the error %v and the cause %v",
			refused.Err, ctx.Err(), context.Cause(ctx))
	}
}

// respond ends the oldest request in flight with a response.
func (s *Script) respond() {
	now := s.Now()
	o := ratelimit.Outcome{Sent: now, Received: now, StatusCode: s.Numbers[0]}
	if !s.Dateless {
		o.Date = now.Truncate(time.Second)
	}
	if o.StatusCode == 429 && len(s.Times) > 0 {
		o.RetryAfter, s.Times = s.Times[0], s.Times[1:]
	}
	if len(s.Numbers) > 1 {
		window := cmp.Or(s.Window, time.Minute)
		left := window - now.Sub(s.start)%window
		reset := append(s.Times, left)[0]
		o.Window = ratelimit.Window{Limit: s.Numbers[1], Remaining: s.Numbers[2], Reset: now.Add(reset)}
	}
	s.Release(o)
}

// Release ends the oldest request in flight with an outcome. If o.Sent is not zero, it becomes the
// time at which the request got its permit.
func (s *Script) Release(o ratelimit.Outcome) {
	if len(s.Permits) == 0 {
		s.Errorf("this step ends a request in flight, and there is none")
		return
	}
	oldest := s.Permits[0]
	s.Permits = s.Permits[1:]
	if !o.Sent.IsZero() {
		o.Sent = oldest.sent
	}
	s.retryAt = o.Received.Add(o.RetryAfter)
	s.opensAfter(s.retryAt, o.Window.Reset)
	l := oldest.Release(o)
	if o.RetryAfter > 0 || l != (ratelimit.Lockout{}) {
		s.must(!l.Until.Before(s.retryAt), "Release returned the end %v; Retry-After ends at %v", l.Until, s.retryAt)
		s.checkWindow(l.Window)
	}
	again := ratelimit.Outcome{Sent: s.Now(), Received: s.Now(), StatusCode: 429, RetryAfter: 100 * time.Hour}
	oldest.Release(again) // has no effect
}

// checkWindow checks a window that the limiter returned just now. In real time, the window may have
// changed since then.
func (s *Script) checkWindow(w ratelimit.Window) {
	known := s.RateLimit(s.Key)
	s.must(w == known || s.Pause > 0, "it returned the window %+v, and RateLimit returns %+v", w, known)
}

// observer is the observer of one request. It uses the limiter, as an observer may.
type observer struct {
	*Script
	process *Process
	holdUp  time.Duration
	waits   int // calls of WaitStart, minus calls of WaitDone
	began   time.Time
}

func (o *observer) WaitStart(w ratelimit.Wait) {
	o.began = o.Now()
	o.note("wait", w.Reason, w.Until, func() { o.waits, o.place = o.waits+1, w.Waiting })
}

func (o *observer) WaitDone(w ratelimit.Wait) {
	took := o.Now().Sub(o.began)
	o.note("done", w.Reason, o.start.Add(w.Duration), func() {
		o.waits--
		o.must(w.Duration > took-time.Second, "WaitDone reported %v, but the wait took %v", w.Duration, took)
	})
}

func (o *observer) LimitClosed(l ratelimit.Lockout) {
	o.note("closed", l.Reason, l.Until, func() {
		o.last = l
		o.must(!l.Until.Before(o.retryAt), "LimitClosed got the end %v; Retry-After ends at %v", l.Until, o.retryAt)
	})
}

func (o *observer) LimitOpened(l ratelimit.Lockout) {
	o.note("opened", l.Reason, l.Until, func() {})
}

// note adds a report to heard, and calls set.
func (o *observer) note(what string, reason ratelimit.Reason, until time.Time, set func()) {
	time.Sleep(o.holdUp)
	o.process.RateLimit(o.process.Key)
	o.events <- func() {
		o.heard = append(o.heard, fmt.Sprintf("%s %s %s", what, reason, o.span(o.start, until)))
		set()
	}
}

// span returns how long it is from one time to another.
func (s *Script) span(from, to time.Time) string {
	unit := time.Millisecond
	if s.Pause > 0 {
		unit = 10 * time.Second
	}
	if to.IsZero() {
		return "?"
	}
	return to.Sub(from).Round(unit).String()
}

// opensAfter notes that no later request may get a permit before the latest of these times.
func (s *Script) opensAfter(times ...time.Time) {
	s.opens = slices.MaxFunc(append(times, s.opens), time.Time.Compare)
}
