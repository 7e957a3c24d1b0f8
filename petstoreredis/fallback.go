package petstoreredis

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/petstore/petstore-go"
)

const (
	// tryEvery is how long Redis is left alone after it did not answer.
	tryEvery = time.Second
	// unknownShare divides the key if nobody has said among how many processes it is shared.
	unknownShare = 8
)

// fallback is a limiter of this process alone, for the time that Redis is away. It is shown a part of the
// quota: Limit and Remaining divided by the number of processes, and no more of a window than the first less
// what this process has used of it, so that processes which do not see each other stay within the whole.
type fallback struct {
	limiter petstore.Limiter
	over    context.Context // ends with it
	end     context.CancelFunc
	share   int

	reset   time.Time // of the window
	own     int       // requests of this process that it has counted
	waiting int       // calls
	tryAt   time.Time // when to ask Redis again
}

// fallbackPermit is leave of a fallback to send one request.
type fallbackPermit struct {
	petstore.Permit
	owner    *Limiter
	fallback *fallback
	released bool
}

// lose goes on without Redis.
func (l *Limiter) lose(now time.Time, err error) {
	if l.away != nil {
		l.away.tryAt = now.Add(tryEvery)
		return
	}
	share := l.config.share
	if share == 0 {
		share = l.known.parties
	}
	if share == 0 {
		share = unknownShare
	}
	over, end := context.WithCancel(context.Background())
	l.away = &fallback{
		limiter: petstore.NewLimiter(), over: over, end: end, share: share, tryAt: now.Add(tryEvery),
	}
	l.begin(now)
	l.unused = nil
	l.line.each(func(w *waiter, _ int) {
		w.moved = true
		l.line.leave(w)
	})
	if l.config.logger != nil {
		l.config.logger.LogAttrs(context.Background(), slog.LevelWarn,
			"petstoreredis: redis is away, this process keeps to its share",
			slog.String("error", err.Error()), slog.Int("share", share))
	}
}

// begin shows the fallback what is known, so that the processes do not begin all at once. What is on its way, or
// may be, counts as spent.
func (l *Limiter) begin(now time.Time) {
	o := l.last
	if o.RateLimit.Limit <= 0 && !l.known.gate.After(now) {
		return
	}
	o.StatusCode = http.StatusOK
	o.RateLimit = l.known.rateLimit
	rest := o.RateLimit.Remaining - l.inFlight
	if l.known.Epoch > 0 {
		rest = min(rest, l.known.left-l.known.outstanding)
	}
	o.RateLimit.Remaining = max(0, rest)
	if l.known.gate.After(now) {
		o.StatusCode = http.StatusTooManyRequests
		o.Sent, o.Received, o.RetryAfter = now, now, l.known.gate.Sub(now)
	}
	// Nobody else has the limiter yet: it admits the first, which stands for all that this process has had.
	if p, err := l.away.limiter.Acquire(context.Background(), 0); err == nil {
		l.away.reset, l.away.own = o.RateLimit.Reset, l.known.taken-1
		p.Release(l.away.divide(o))
		l.away.own = l.known.taken
	}
}

// regain ends the fallback. Its calls come back to the line.
func (l *Limiter) regain() {
	l.away.end()
	l.away = nil
	if l.config.logger != nil {
		l.config.logger.LogAttrs(context.Background(), slog.LevelWarn, "petstoreredis: redis is back")
	}
}

// acquire asks the limiter of this process, unless Redis is back before. It then returns neither permit nor error.
func (f *fallback) acquire(ctx context.Context, l *Limiter, w *waiter) (petstore.Permit, error) {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(f.over, cancel)()
	l.wait(f, 1)
	p, err := f.limiter.Acquire(inner, max(0, time.Until(w.deadline)))
	l.wait(f, -1)
	if err == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.inFlight++
		return &fallbackPermit{Permit: p, owner: l, fallback: f}, nil
	}
	if f.over.Err() != nil && endOf(ctx) == nil {
		return nil, nil //nolint:nilnil // ask elsewhere
	}
	if limited, ok := errors.AsType[*petstore.RateLimitError](err); ok {
		limited.RateLimit = l.RateLimit() // the whole, not this process's part of it
	}
	return nil, err
}

// wait counts who waits, so that Redis is asked again also if no call comes.
func (l *Limiter) wait(f *fallback, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f.waiting += n
	l.arm(time.Now())
}

// Release implements [petstore.Permit]. What Redis is to know of it, it is told when it is back.
func (p *fallbackPermit) Release(o petstore.Observation) {
	l := p.owner
	l.mu.Lock()
	if p.released {
		l.mu.Unlock()
		return
	}
	p.released = true
	l.inFlight--
	if !o.Sent.IsZero() {
		l.settle(slot{}, false, o)
	}
	divided := p.fallback.divide(o)
	l.dispatch(time.Now())
	l.mu.Unlock()
	p.Permit.Release(divided)
}

// divide is an observation as the fallback is to see it.
func (f *fallback) divide(o petstore.Observation) petstore.Observation {
	limit := o.RateLimit.Limit
	if limit <= 0 {
		return o
	}
	if o.RateLimit.Reset.Sub(f.reset) > sameWindow {
		f.reset, f.own = o.RateLimit.Reset, 0
	}
	if o.StatusCode != http.StatusTooManyRequests {
		f.own++
	}
	o.RateLimit.Limit = max(1, limit/f.share)
	o.RateLimit.Remaining = max(0, min(o.RateLimit.Remaining/f.share, o.RateLimit.Limit-f.own))
	return o
}
