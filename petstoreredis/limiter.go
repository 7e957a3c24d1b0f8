package petstoreredis

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/petstore/petstore-go/ratelimit"
)

// manyKeys: once a limiter has this many keys, it drops those that are not in use.
const manyKeys = 64

// Limiter is a [petstore.Limiter] whose budgets are shared by all processes that use the same
// Redis. [NewLimiter] returns one; pass it to all clients of this process with
// [petstore.WithLimiter]. Each key has a budget of its own. It is safe for concurrent use, and has
// no goroutine and no timer at rest, so that it need not be closed. A program that ends right after
// its last call should call Flush before.
type Limiter struct {
	rdb       redis.UniversalClient
	config    config
	wallClock func() time.Time

	mu        sync.Mutex // guards the fields below, and all queues
	queues    map[string]*queue
	sweepAt   int       // the number of queues at which those are dropped that are not in use
	latest    time.Time // that the wall clock has shown
	connected bool      // Redis has replied
	away      time.Time // when Redis began to fail; zero while it replies
}

// RateLimit implements [petstore.Limiter].
func (l *Limiter) RateLimit(key string) ratelimit.Window {
	l.mu.Lock()
	defer l.mu.Unlock()
	if q := l.queues[key]; q != nil {
		return q.window
	}
	return ratelimit.Window{}
}

// Reopen implements [petstore.Limiter]. The other processes learn of it within ten seconds.
func (l *Limiter) Reopen(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, q := l.clock(), l.queue(key)
	if q.alone != nil {
		q.alone.limiter.Reopen(key)
	}
	q.forget(now)
	q.opensAt, q.reopen, q.reportAt = now, true, now
	q.step(now)
}

// Flush reports to Redis the outcomes that it does not know yet: those of the last 20 ms. Without
// it, the permits of these requests count twice until the window is over. The error is that of
// Redis, or of ctx.
func (l *Limiter) Flush(ctx context.Context) (all error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, q := range slices.Collect(maps.Values(l.queues)) {
		all = errors.Join(all, q.flush(ctx))
	}
	return all
}

// flush waits for the command on its way, and sends another one if there is more to report.
func (q *queue) flush(ctx context.Context) error {
	for range 2 {
		if q.asking == nil && len(q.outcomes) > 0 {
			q.send(q.l.clock())
		}
		if asking := q.asking; asking != nil {
			q.l.unlocked(func() {
				select {
				case <-asking:
				case <-ctx.Done():
				}
			})
		}
		if err := contextError(ctx); err != nil {
			return fmt.Errorf("petstoreredis: flush: %w", err)
		}
	}
	if q.alone != nil && len(q.outcomes) > 0 {
		return fmt.Errorf("petstoreredis: flush: %w", q.alone.err)
	}
	return nil
}

// clock returns the time. If the wall clock was set back, nothing that the process knows is valid
// any more, and Redis must be asked.
func (l *Limiter) clock() time.Time {
	now := l.wallClock()
	if l.latest.Sub(now) > time.Second {
		for _, q := range l.queues {
			q.forget(now)
			q.outcomes, q.closed = nil, nil
		}
	}
	l.latest = now
	return now
}

// queue returns the queue of a key. Once there are many keys, it drops those that are not in use,
// and looks again when there are twice as many as were left: then a new key costs little.
func (l *Limiter) queue(key string) *queue {
	q := l.queues[key]
	if q == nil {
		if now := l.clock(); len(l.queues) >= l.sweepAt {
			maps.DeleteFunc(l.queues, func(_ string, q *queue) bool { return q.idle(now) })
			l.sweepAt = max(manyKeys, 2*len(l.queues))
		}
		q = &queue{l: l, key: key}
		l.queues[key] = q
	}
	return q
}
