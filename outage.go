package petstore

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/petstore/petstore-go/internal/errtext"
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

// outageLog logs what lasts: that all calls fail, or that calls wait in each minute.
type outageLog struct {
	*clientLog

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

func outageTrace(logger *slog.Logger) *ClientTrace {
	l := &outageLog{clientLog: &clientLog{logger: logger}}
	return &ClientTrace{CallDone: l.done, WaitDone: l.waitDone}
}

// done counts failures. Those that the caller, or the rate limit, is the reason for say nothing.
func (l *outageLog) done(ctx context.Context, info CallDoneInfo) {
	err := info.Err
	if errors.Is(err, ErrRateLimited) || errors.Is(err, context.Canceled) {
		return
	}
	works := err == nil || errors.Is(err, ErrBadRequest) || errors.Is(err, ErrNotFound)
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if works {
		if l.worked++; l.worked == 1 {
			l.working = now
		}
		if !l.failedAt.IsZero() {
			if l.worked < manySuccesses && now.Sub(l.working) < recovered {
				return
			}
			l.write(ctx, slog.LevelInfo, "petstore: calls succeed again", info.Call,
				slog.Int("failed", l.failed), slog.Duration("duration", l.working.Sub(l.failing)))
		}
		l.failed, l.failedAt = 0, time.Time{}
		return
	}
	l.worked = 0
	if l.failed++; l.failed == 1 {
		l.failing = now
	}
	if l.failed >= manyFailures && now.Sub(l.failedAt) >= outageQuiet {
		l.failedAt = now
		l.write(ctx, slog.LevelWarn, "petstore: calls fail", info.Call, slog.Int("failed", l.failed),
			slog.Duration("duration", now.Sub(l.failing)), slog.String("error", errtext.Line(err.Error())))
	}
}

func (l *outageLog) waitDone(ctx context.Context, w Wait) {
	if w.Reason != WaitMinute && w.Reason != WaitBackground {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if begun := now.Add(-w.Duration); begun.Sub(l.waitedAt) > time.Minute {
		l.queueing = begun
	}
	l.waitedAt = now
	if now.Sub(l.queueing) >= longQueue && now.Sub(l.queuedAt) >= outageQuiet {
		l.queuedAt = now
		l.write(ctx, slog.LevelInfo, "petstore: calls wait", w.Call, slog.String("reason", string(w.Reason)),
			slog.Int("waiting", w.Waiting), slog.Duration("duration", now.Sub(l.queueing)))
	}
}
