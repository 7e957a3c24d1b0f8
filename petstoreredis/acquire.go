package petstoreredis

import (
	"cmp"
	"context"
	"time"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/internal/deadline"
	"github.com/petstore/petstore-go/internal/queue"
	"github.com/petstore/petstore-go/internal/quota"
)

// waiter is a call in the queue.
type waiter = queue.Waiter[*permit]

// Acquire implements [petstore.Limiter]. r.MaxWait limits how long the call waits for a window or a
// closed key. It does not count the time that Redis takes, which is [WithTimeout] at most, nor the
// wait for the response of another request.
func (l *Limiter) Acquire(ctx context.Context, r petstore.LimitRequest) (petstore.Permit, error) {
	p, w, refused := l.enter(ctx, r)
	if w != nil {
		p, refused = l.calls.Await(ctx, w)
	}
	if refused != nil {
		return nil, refusalError(ctx, refused)
	}
	return p, nil
}

// enter returns a permit, a waiter, or a refusal.
func (l *Limiter) enter(ctx context.Context, r petstore.LimitRequest) (*permit, *waiter, *queue.Refusal) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if deadline.Err(ctx) != nil {
		return nil, nil, l.calls.Ended(now, false)
	}
	l.expire(now)
	if l.fallback.share != nil && !now.Before(l.fallback.tryAt) {
		l.send(now)
	}
	if l.calls.Passes(false) {
		if p, ok := l.take(now); ok {
			return p, nil, nil
		}
	}
	w, refused := l.calls.NewWaiter(ctx, now, queue.Call{Asked: r.Asked, MaxWait: r.MaxWait, Start: startWait(r)})
	if refused != nil {
		l.ask(now)
		return nil, nil, refused
	}
	if at := l.rules().earliest(now, l.calls.Before(w)); at.After(now) {
		l.calls.Tell(now, w, l.wait(now, at))
	} else {
		l.calls.Join(now, w)
	}
	return nil, w, nil
}

// wait describes the wait of a call that cannot be admitted before at.
func (l *Limiter) wait(now, at time.Time) queue.Wait {
	w := queue.Wait{Reason: cmp.Or(quota.Reason(l.rules().scope(now, at)), quota.ForResponse)}
	if at.After(now) {
		w.Until = at
	}
	return w
}

// startWait returns the queue.Start of a request.
func startWait(r petstore.LimitRequest) queue.Start {
	return func(w queue.Wait) func(free time.Duration) {
		return r.StartWait(petstore.Wait{Reason: petstore.WaitReason(w.Reason), Until: w.Until, Waiting: w.Waiting})
	}
}

// ask sends a command for a call that was refused, at most once in askEvery: another process may
// have learned more since.
func (l *Limiter) ask(now time.Time) {
	if !l.busy && now.Sub(l.sentAt) >= askEvery && (l.fallback.share == nil || !now.Before(l.fallback.tryAt)) {
		l.send(now)
		l.arm(now)
	}
}

// refusalError returns the error of a call that gets no permit. Its rate limit is that of the whole
// key, also during a fallback.
func refusalError(ctx context.Context, r *queue.Refusal) error {
	e := &petstore.RateLimitError{
		RetryAt: r.RetryAt, RateLimit: petstore.RateLimit(r.RateLimit), Scope: petstore.LimitScope(r.Scope),
	}
	if r.Ended {
		e.Err = deadline.EndOf(ctx, nil)
	}
	return e
}

// budget is a Limiter as its queue sees it.
type budget Limiter

func (b *budget) Lock()   { b.mu.Lock() }
func (b *budget) Unlock() { b.mu.Unlock() }

func (b *budget) Dispatch(now time.Time) { (*Limiter)(b).dispatch(now) }

func (b *budget) Earliest(now time.Time, before int, _ bool) time.Time {
	return (*Limiter)(b).rules().earliest(now, before)
}

func (b *budget) Refusal(now, at time.Time) *queue.Refusal {
	r := &queue.Refusal{RateLimit: b.known.rateLimit, Scope: (*Limiter)(b).rules().scope(now, at)}
	if at.After(now) {
		r.RetryAt = at
	}
	return r
}

func (b *budget) GiveBack(p *permit, now time.Time) {
	(*Limiter)(b).giveBack(p, &quota.Observation{}, now)
}
