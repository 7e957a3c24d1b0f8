package petstore

import (
	"context"
	"fmt"
	"time"

	"github.com/petstore/petstore-go/internal/queue"
	"github.com/petstore/petstore-go/internal/quota"
)

// NewLimiter returns a limiter for one process. It is the default of a [Client]. It keeps a budget
// for each API key. It need not know the plan: it learns the limits from the headers of the
// responses (section 8.2).
//
// A call waits only in these cases: the window is used up; a 429 has closed the key; the first
// request for the key, or the first after a 429, has no response yet; or other processes may use
// the key, and as many requests are in flight as are safe then. Each response that shows no other
// process raises that number: a process that is alone loses at most three round trips. There are
// never more requests in flight than the service has room for by its latest responses. After a 429
// the limiter admits nothing before Retry-After has passed nor, if the 429 used up its window,
// before Reset. Without the rate limit headers it admits at most two requests at a time, and one
// after the first 429. Calls are served in the order of their arrival, those [WithBackground] last.
//
// A request without a KeyID counts for the key of the latest request, or, before there was one, for
// the key of the first.
//
// A limiter has no goroutine. Its Reopen has the effect of [Client.ReopenLimit] for one key.
func NewLimiter(opts ...LimiterOption) Limiter {
	var budget quota.Budget
	for _, opt := range opts {
		if opt != nil {
			opt.applyLimiter(&budget)
		}
	}
	return &limiter{queue.NewLimiter(budget)}
}

// LimiterOption configures [NewLimiter].
type LimiterOption interface {
	applyLimiter(b *quota.Budget)
}

type limiterOption func(*quota.Budget)

func (o limiterOption) applyLimiter(b *quota.Budget) { o(b) }

// Processes sets the number of processes that use each API key, including this one, each with its
// own limiter. The limiter then has fewer requests in flight, and leaves the last requests of a
// window to the others. By default, and if n is not positive, it infers from the responses whether
// others use the key; if eight processes start together, some of them learn that too late.
func Processes(n int) LimiterOption {
	return limiterOption(func(b *quota.Budget) { b.Processes = max(0, n) })
}

// limiter is a queue.Limiter for the types of this package.
type limiter struct{ *queue.Limiter }

// permit is a queue.Permit, without an allocation of its own.
type permit queue.Permit

// RateLimit implements [Limiter].
func (l *limiter) RateLimit(keyID string) RateLimit { return RateLimit(l.Limiter.RateLimit(keyID)) }

// Acquire implements [Limiter].
func (l *limiter) Acquire(ctx context.Context, r LimitRequest) (Permit, error) {
	call := queue.Call{KeyID: r.Call.KeyID, Asked: r.Asked, Background: r.Call.Background, MaxWait: r.MaxWait}
	if r.call != nil {
		call.Reporter = r.call
	}
	p, refused := l.Limiter.Acquire(ctx, call)
	if refused != nil {
		return nil, refusalError(ctx, refused)
	}
	return (*permit)(p), nil
}

// ReportWait implements [queue.Reporter].
func (k *call) ReportWait(w queue.Wait) (done func(free time.Duration)) {
	return k.startWait(Wait{Reason: WaitReason(w.Reason), Until: w.Until, Waiting: w.Waiting})
}

// Release implements [Permit].
func (p *permit) Release(o Observation) {
	outcome := o.quota()
	(*queue.Permit)(p).Release(&outcome)
}

// refusalError returns the error of a call that gets no permit.
func refusalError(ctx context.Context, r *queue.Refusal) *RateLimitError {
	e := &RateLimitError{RetryAt: r.RetryAt, RateLimit: RateLimit(r.RateLimit), Scope: LimitScope(r.Scope)}
	if r.Ended {
		e.Err = endOf(ctx)
	}
	if r.Ended && e.Scope == "" {
		e.RetryAt = time.Time{} // a response decides
		during := "before the request was sent"
		if r.Waited {
			during = "while waiting for a response"
		}
		e.Err = fmt.Errorf("%s: %w", during, e.Err)
	}
	return e
}

// quota returns o as the type of package quota, which cannot import this package.
func (o *Observation) quota() quota.Observation {
	switch o.Delivery {
	case DeliveryNotTried, DeliveryNotSent:
		return quota.Observation{}
	case DeliveryNoResponse:
		return quota.Observation{Sent: o.Sent, Abandoned: o.Abandoned}
	}
	return quota.Observation{
		Sent: o.Sent, Received: o.Received, StatusCode: o.StatusCode,
		RateLimit: quota.RateLimit(o.RateLimit), RetryAfter: o.RetryAfter, Date: o.Date, Abandoned: o.Abandoned,
	}
}

// after429 returns the time from which a 429 allows the next request, zero if the response does not
// say, and its scope.
func after429(o Observation) (opens time.Time, scope LimitScope) {
	q := o.quota()
	opens, known := quota.After429(&q)
	return opens, LimitScope(known)
}
