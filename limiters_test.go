package petstore_test

import (
	"context"
	"errors"
	"time"

	"github.com/petstore/petstore-go"
)

// The limiters of these tests, as users of WithLimiter might write them.

// countingLimiter admits all requests immediately and records their outcomes. It is its own permit,
// and is used by one goroutine at a time.
type countingLimiter struct {
	acquired int
	released []petstore.Observation
}

func (l *countingLimiter) Acquire(context.Context, time.Duration) (petstore.Permit, error) {
	l.acquired++
	return l, nil
}
func (l *countingLimiter) Release(o petstore.Observation) { l.released = append(l.released, o) }
func (l *countingLimiter) RateLimit() petstore.RateLimit  { return petstore.RateLimit{} }

// sent returns the number of permits with which a request was sent.
func (l *countingLimiter) sent() (n int) {
	for _, o := range l.released {
		if !o.Sent.IsZero() {
			n++
		}
	}
	return n
}

// fixedLimiter returns the same permit and error from each Acquire.
type fixedLimiter struct {
	permit petstore.Permit
	err    error
}

func (l fixedLimiter) Acquire(context.Context, time.Duration) (petstore.Permit, error) {
	return l.permit, l.err
}
func (l fixedLimiter) RateLimit() petstore.RateLimit { return petstore.RateLimit{} }

// brokenLimiter fails from the second request on.
type brokenLimiter struct {
	petstore.Limiter
	acquired int
}

func (l *brokenLimiter) Acquire(ctx context.Context, maxWait time.Duration) (petstore.Permit, error) {
	if l.acquired++; l.acquired > 1 {
		return nil, errors.New("the limiter is broken")
	}
	return l.Limiter.Acquire(ctx, maxWait)
}

// slowLimiter takes a time longer than the limiter in it.
type slowLimiter struct {
	petstore.Limiter
	by time.Duration
}

func (l slowLimiter) Acquire(ctx context.Context, maxWait time.Duration) (petstore.Permit, error) {
	permit, err := l.Limiter.Acquire(ctx, maxWait)
	<-time.After(l.by)
	return permit, err
}

// ticketLimiter admits all requests immediately and records their tickets.
type ticketLimiter struct {
	countingLimiter
	issued uint64
	seen   []uint64
}

func (l *ticketLimiter) Acquire(ctx context.Context, _ time.Duration) (petstore.Permit, error) {
	l.seen = append(l.seen, petstore.Ticket(ctx, l, func() uint64 { l.issued++; return l.issued }))
	return l, nil
}

// twoLimiters asks two limiters for each request.
type twoLimiters struct{ first, second petstore.Limiter }

func (l twoLimiters) Acquire(ctx context.Context, maxWait time.Duration) (petstore.Permit, error) {
	permit, err := l.first.Acquire(ctx, maxWait)
	if err != nil {
		return nil, err
	}
	permit.Release(petstore.Observation{})
	return l.second.Acquire(ctx, maxWait)
}

func (l twoLimiters) RateLimit() petstore.RateLimit { return l.second.RateLimit() }

// cancelledLimiter asks a limiter with a context of its own, which has ended.
type cancelledLimiter struct{ petstore.Limiter }

func (l cancelledLimiter) Acquire(ctx context.Context, maxWait time.Duration) (petstore.Permit, error) {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	return l.Limiter.Acquire(ctx, maxWait)
}
