package petstoreredis

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/ratelimit"
)

// The words of this package, also in pot.lua and README.md:
//
//   - pot: the state of one key, a hash in Redis
//   - command and reply: what a process sends to the script pot.lua, and what the script returns
//   - permit: the right to send one request. The script grants permits to a process, and its queue
//     gives each of them to a waiter
//   - waiter: a request in Acquire; obstacle: what it waits for, a limit or a response
//   - outcome: what became of the request of a permit
//   - window: the time in which the service counts requests; epoch: its number in the pot
//   - remaining: X-RateLimit-Remaining in a response; left: how many more permits the window allows
//   - share: the part of a window that one process may use
//   - lockout: the time in which a key is closed after a 429
//   - fallback: a limiter of package ratelimit that gives permits while Redis is away

// Limiter is a [petstore.Limiter] whose limits are shared by all processes that use the same Redis.
// [NewLimiter] returns one; pass it to all clients of this process with [petstore.WithLimiter].
// Each key has a limit of its own. It is safe for concurrent use. At rest it has no goroutine and
// no timer, so that it need not be closed. It never forgets a key, and needs about a kilobyte for
// each. A program that ends right after its last call should call Flush.
type Limiter struct {
	rdb     redis.UniversalClient
	logger  *slog.Logger
	shares  int // into which each limit is divided while Redis is away; 0 if not set
	timeout time.Duration
	prefix  string
	// now reads the wall clock: the monotonic clock stands still while a machine is suspended.
	now func() time.Time

	mu        sync.Mutex // guards the fields below, and all queues
	queues    map[string]*queue
	replied   bool      // Redis has replied at least once
	failed    *queue    // the key whose command failed last; nil while Redis replies
	failedAt  time.Time // when it failed
	awaySince time.Time // when the first command failed
}

// Option configures a [Limiter] in [NewLimiter].
type Option func(*Limiter)

// WithLogger makes the Limiter log when it goes on without Redis (level Warn, with the error and
// the first key), and when Redis is back (level Info). A nil logger, the default, logs nothing.
func WithLogger(logger *slog.Logger) Option { return func(l *Limiter) { l.logger = logger } }

// WithShare sets the number of processes that share each key while Redis is away. With 0, the
// default, the number is the last one that Redis replied, or 64 if Redis has never replied.
func WithShare(processes int) Option { return func(l *Limiter) { l.shares = processes } }

// WithTimeout sets how long a command may take. After that, or if it fails, the process goes on
// without Redis. The default is 2 s. Until the first reply of Redis, a command may take three times
// as long, because it connects first.
func WithTimeout(d time.Duration) Option { return func(l *Limiter) { l.timeout = d } }

// WithKeyPrefix sets the prefix of all names of keys in Redis; the default is "petstore:". It must
// be the same in all processes.
func WithKeyPrefix(prefix string) Option { return func(l *Limiter) { l.prefix = prefix } }

// NewLimiter returns a limiter that keeps its state in rdb, in a hash for each API key. The name of
// the hash ends in the KeyID of [petstore.Call]. NewLimiter does no I/O. It returns a
// [petstore.ArgumentError] if rdb is nil or an option is invalid.
func NewLimiter(rdb redis.UniversalClient, opts ...Option) (*Limiter, error) {
	l := &Limiter{
		rdb: rdb, timeout: 2 * time.Second, prefix: "petstore:",
		now: func() time.Time { return time.Now().Round(0) }, queues: map[string]*queue{},
	}
	for i, opt := range opts {
		if opt == nil {
			return nil, argumentError(fmt.Sprintf("option %d", i+1), "is nil")
		}
		opt(l)
	}
	switch {
	case rdb == nil:
		return nil, argumentError("rdb", "is nil")
	case l.shares < 0:
		return nil, argumentError("WithShare", "is negative")
	case l.timeout <= 0:
		return nil, argumentError("WithTimeout", "is not positive")
	}
	return l, nil
}

func argumentError(argument, reason string) error {
	return &petstore.ArgumentError{Operation: "NewLimiter", Argument: argument, Reason: reason}
}

// RateLimit implements [petstore.Limiter].
func (l *Limiter) RateLimit(key string) ratelimit.Window {
	l.mu.Lock()
	defer l.mu.Unlock()
	if q := l.queues[key]; q != nil { // not l.queue, which would add the key
		return q.window
	}
	return ratelimit.Window{}
}

// Reopen implements [petstore.Limiter]. Another process that expects the key to open in more than
// 70 s learns of the Reopen within ten seconds. Any other process learns of it when it expects the
// key to open.
func (l *Limiter) Reopen(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	q, now := l.queue(key), l.now()
	if q.fallback != nil {
		q.fallback.Reopen(key)
	}
	q.reported.Until = now // so that the first success after this is reported
	q.closedUntil = time.Time{}
	q.obstacles = [2]obstacle{}
	q.reopen = true
	q.sendAt = now
	q.step(now)
}

// Flush reports the outcomes that Redis does not know yet: those of the last 20 ms or, while Redis
// is away, since the last try. Without Flush, each of these requests may count twice until its
// window is over: in Remaining, and as a permit in flight. The error is that of ctx, or of the last
// command.
func (l *Limiter) Flush(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var reporting []*queue
	for _, q := range l.queues { // all keys at once
		if q.sending == nil && len(q.outcomes) > 0 {
			q.send(l.now())
		}
		if q.sending != nil {
			reporting = append(reporting, q)
		}
	}
	var failed error
	for _, q := range reporting {
		if err := q.flush(ctx); err != nil {
			failed = fmt.Errorf("petstoreredis: flush: %w", err)
		}
	}
	return failed
}

// flush waits until all outcomes are reported, or returns why they are not.
func (q *queue) flush(ctx context.Context) error {
	for q.sending != nil || len(q.outcomes) > 0 {
		if q.sending == nil {
			q.send(q.l.now())
		}
		q.l.sleep(ctx, q.sending, longestNap)
		if err := contextError(ctx); err != nil {
			return err
		}
	}
	if q.fallback != nil {
		return q.fallback.err
	}
	return nil
}

func (l *Limiter) queue(key string) *queue {
	q := l.queues[key]
	if q == nil {
		q = &queue{l: l, key: key}
		l.queues[key] = q
	}
	return q
}

// sleep waits until there is news, ctx has ended or d has passed. It releases the lock meanwhile,
// and may return earlier, after longestNap.
func (l *Limiter) sleep(ctx context.Context, news <-chan struct{}, d time.Duration) {
	l.unlocked(func() {
		timer := time.NewTimer(min(d, longestNap))
		defer timer.Stop()
		select {
		case <-news:
		case <-timer.C:
		case <-ctx.Done():
		}
	})
}

// unlocked releases the lock while it calls f, because f waits, or calls an observer or the logger.
// The state of the limiter may have changed when unlocked returns.
func (l *Limiter) unlocked(f func()) {
	l.mu.Unlock()
	defer l.mu.Lock()
	f()
}
