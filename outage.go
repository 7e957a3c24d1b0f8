package petstore

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

const (
	// manyFailures is how many calls in a row must fail: one that fails is a matter of its caller.
	manyFailures = 5
	// manySuccesses is how many calls in a row must succeed until an outage is over, or all for
	// recovered: in a partial outage, a few in a row mean nothing.
	manySuccesses = 50
	recovered     = 5 * time.Minute
	// longQueue is for how long calls must wait, with a window's length between them at most: one or
	// two windows are usual after a burst.
	longQueue = 5 * time.Minute
	// outageQuiet is the time between two lines about the same, so that an hour has five at most.
	outageQuiet = time.Hour
)

// outage is what the log records about what lasts: that all calls fail, or that calls wait in each
// minute.
type outage struct {
	mu       sync.Mutex
	failed   int       // calls in a row, or since the outage began
	failing  time.Time // when the first of them ended
	worked   int       // calls in a row
	working  time.Time // when the first of them ended
	failedAt time.Time // when that was logged; zero if it was not
	queueing time.Time // when the first of the waits for windows began
	waitedAt time.Time // when the last one ended
	queuedAt time.Time // when that was logged
}

// countDone counts failures in a row. Those that the caller, or the rate limit, is the reason for
// say nothing.
func (l *clientLog) countDone(ctx context.Context, info CallDoneInfo) {
	err, o, now := info.Err, &l.outage, time.Now()
	if errors.Is(err, ErrRateLimited) || errors.Is(err, context.Canceled) {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if err == nil || errors.Is(err, ErrBadRequest) || errors.Is(err, ErrNotFound) {
		if o.worked++; o.worked == 1 {
			o.working = now
		}
		if !o.failedAt.IsZero() {
			if o.worked < manySuccesses && now.Sub(o.working) < recovered {
				return
			}
			l.write(ctx, slog.LevelInfo, "petstore: calls succeed again", info.Call,
				slog.Int("failed", o.failed), slog.Duration("duration", o.working.Sub(o.failing)))
		}
		o.failed, o.failedAt = 0, time.Time{}
		return
	}
	o.worked = 0
	if o.failed++; o.failed == 1 {
		o.failing = now
	}
	if o.failed >= manyFailures && now.Sub(o.failedAt) >= outageQuiet {
		o.failedAt = now
		l.write(ctx, slog.LevelWarn, "petstore: calls fail", info.Call, slog.Int("failed", o.failed),
			slog.Duration("duration", now.Sub(o.failing)), lineAttr("error", err.Error()))
	}
}

// waited logs that calls wait for windows for a long time.
func (l *clientLog) waited(ctx context.Context, w Wait) {
	if w.Reason != WaitMinute && w.Reason != WaitBackground {
		return
	}
	o, now := &l.outage, time.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	if begun := now.Add(-w.Duration); begun.Sub(o.waitedAt) > time.Minute {
		o.queueing = begun
	}
	o.waitedAt = now
	if now.Sub(o.queueing) >= longQueue && now.Sub(o.queuedAt) >= outageQuiet {
		o.queuedAt = now
		l.write(ctx, slog.LevelInfo, "petstore: calls wait", w.Call, slog.String("reason", string(w.Reason)),
			slog.Int("waiting", w.Waiting), slog.Duration("duration", now.Sub(o.queueing)))
	}
}
