package petstore

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/petstore/petstore-go/ratelimit"
)

// WithLogger makes the Client log to l. The messages, levels and attributes are stable:
//
//	petstore: attempt               Debug  method path attempt duration status rate_limit
//	                                       retry_after error
//	petstore: waiting               Debug  reason until waiting
//	petstore: outcome unknown       Warn   duration error; the pet may have been created
//	petstore: rate limit closed     Warn   scope until key_id; once for each lockout,
//	                                       but for the minute's once in an hour
//	petstore: rate limit open again Info   scope until key_id; once for each lockout
//	petstore: deprecated operation  Warn   removal instead; once for each client
//	petstore: other processes use the key
//	                                Warn   cure; once for each key
//	petstore: key refused           Warn   status; once for each key until it works again
//	petstore: calls fail            Warn   failed duration error; when five calls in a row have
//	                                       failed, then every hour
//	petstore: calls succeed again   Info   failed duration; when none has failed for five minutes
//	petstore: calls wait            Info   reason waiting duration; when calls have waited in each
//	                                       of five minutes, then every hour
//
// Each line also has operation and call_id, which is the same on all lines of a call. reason is a
// [ratelimit.Reason], scope a [LimitScope], key_id a [Call].KeyID, and cure what to do; an attribute
// that is not known is left out. The API key and bodies are never logged. A nil logger, the
// default, logs nothing.
func WithLogger(l *slog.Logger) Option {
	return forClient("", "", func(c *clientConfig) { c.logger = l })
}

// logTrace returns the trace that writes the log of a client. The comment of
// WithLogger has the table of messages.
func logTrace(logger *slog.Logger) *ClientTrace {
	l := &clientLog{logger: logger}
	return &ClientTrace{
		AttemptDone: l.attempt, WaitStart: l.wait, WaitDone: l.waited, LimitClosed: l.closed, LimitOpened: l.opened,
		CallStart: l.deprecated, CallDone: l.done,
	}
}

// clientLog is the log of one client.
type clientLog struct {
	logger *slog.Logger
	key    keyLog
	warned atomic.Bool // about the deprecated operation
	outage outage
}

// keyLog is what the log of a client records about one key.
type keyLog struct {
	rejected atomic.Int64 // time of the last 429 for which the minute's window was used up
	crowded  atomic.Bool  // warned about other processes
	refused  atomic.Bool  // warned that the service refuses the key
	closedAt atomic.Int64 // time of the last line about a lockout of a minute
	silent   atomic.Bool  // the last lockout was not logged
}

// write writes a line about a call.
func (l *clientLog) write(ctx context.Context, level slog.Level, message string, c Call, attrs ...slog.Attr) {
	all := []slog.Attr{slog.String("operation", c.Operation), slog.String("call_id", c.ID)}
	l.logger.LogAttrs(ctx, level, message, append(all, attrs...)...) // the callers have constants
}

// deprecated logs the first call of getPet (section 4.3).
func (l *clientLog) deprecated(ctx context.Context, c Call) context.Context {
	if c.Operation == OpGetPet && !l.warned.Swap(true) {
		l.write(ctx, slog.LevelWarn, "petstore: deprecated operation", c,
			slog.String("removal", "2030-12-05"), slog.String("instead", OpListPets))
	}
	return nil
}

// done logs a call whose outcome is unknown: a person has to look for the pet.
func (l *clientLog) done(ctx context.Context, info CallDoneInfo) {
	if errors.Is(info.Err, ErrOutcomeUnknown) {
		l.write(ctx, slog.LevelWarn, "petstore: outcome unknown", info.Call,
			slog.Duration("duration", info.Duration), lineAttr("error", info.Err.Error()))
	}
	l.countDone(ctx, info)
}

// attempt logs each request.
func (l *clientLog) attempt(ctx context.Context, info AttemptDoneInfo) {
	if l.logger.Enabled(ctx, slog.LevelDebug) { // or the attributes would cost each request something
		l.write(ctx, slog.LevelDebug, "petstore: attempt", info.Call, attemptAttrs(info)...)
	}
	switch key := &l.key; {
	case info.StatusCode == http.StatusTooManyRequests:
		l.shared(ctx, key, info)
	case info.StatusCode == http.StatusUnauthorized:
		if !key.refused.Swap(true) {
			l.write(ctx, slog.LevelWarn, "petstore: key refused", info.Call, slog.Int("status", info.StatusCode))
		}
	case info.StatusCode/100 == 2:
		key.refused.Store(false)
	}
}

func attemptAttrs(info AttemptDoneInfo) []slog.Attr {
	attrs := []slog.Attr{
		slog.String("method", info.Call.Method),
		slog.String("path", info.Call.Template),
		slog.Int("attempt", info.Call.Attempt),
		slog.Duration("duration", info.Duration),
	}
	attrs = append(attrs, known(
		slog.Int("status", info.StatusCode),
		slog.Any("rate_limit", info.RateLimit),
		slog.Duration("retry_after", info.RetryAfter))...)
	if info.Err != nil {
		attrs = append(attrs, lineAttr("error", info.Err.Error()))
	}
	return attrs
}

// shared warns once if two 429s within a minute say that the window is used up: the limiter of one
// process keeps to its limit, so others use the key.
func (l *clientLog) shared(ctx context.Context, key *keyLog, info AttemptDoneInfo) {
	if r := info.RateLimit; r.IsZero() || r.Remaining > 0 || info.RetryAfter > time.Minute {
		return
	}
	now := time.Now()
	last := key.rejected.Swap(now.UnixNano())
	if last > 0 && now.Sub(time.Unix(0, last)) <= time.Minute && !key.crowded.Swap(true) {
		l.write(ctx, slog.LevelWarn, "petstore: other processes use the key", info.Call,
			slog.String("cure", "set PETSTORE_PROCESSES or Processes(n), or share a limiter with petstoreredis"))
	}
}

// wait logs each wait.
func (l *clientLog) wait(ctx context.Context, c Call, w ratelimit.Wait) {
	attrs := known(slog.String("reason", string(w.Reason)), slog.Time("until", w.Until))
	l.write(ctx, slog.LevelDebug, "petstore: waiting", c, append(attrs, slog.Int("waiting", w.Waiting))...)
}

// closed logs the start of each lockout; of those of a minute, which may follow each other for
// days, one in outageQuiet.
func (l *clientLog) closed(ctx context.Context, c Call, info ratelimit.Lockout) {
	key, now := &l.key, time.Now()
	key.silent.Store(info.Scope == ratelimit.ScopeMinute && now.Sub(time.Unix(0, key.closedAt.Load())) < outageQuiet)
	if key.silent.Load() {
		return
	}
	if info.Scope == ratelimit.ScopeMinute {
		key.closedAt.Store(now.UnixNano())
	}
	l.write(ctx, slog.LevelWarn, "petstore: rate limit closed", c, limitAttrs(c, info)...)
}

// opened logs the end of each lockout whose start was logged.
func (l *clientLog) opened(ctx context.Context, c Call, info ratelimit.Lockout) {
	if !l.key.silent.Load() {
		l.write(ctx, slog.LevelInfo, "petstore: rate limit open again", c, limitAttrs(c, info)...)
	}
}

func limitAttrs(c Call, info ratelimit.Lockout) []slog.Attr {
	attrs := known(slog.String("scope", string(info.Scope)), slog.Time("until", info.Until))
	return append(attrs, slog.String("key_id", c.KeyID))
}

const (
	// manyFailures is how many calls in a row must fail: one that fails is a matter of its caller.
	manyFailures = 5
	// recovered is for how long no call must fail until an outage is over: in a partial outage, a
	// few successes in a row mean nothing.
	recovered = 5 * time.Minute
	// longQueue is for how long calls must wait, with a window's length between them at most: one
	// or two windows are usual after a burst.
	longQueue = 5 * time.Minute
	// outageQuiet is the time between two lines about the same, so that an hour has five at most.
	outageQuiet = time.Hour
)

// outage is what the log records about what lasts: that all calls fail, or that calls wait in each
// minute.
type outage struct {
	mu       sync.Mutex
	failed   int       // calls in a row, or since the outage began
	begun    time.Time // when the first of them ended
	latest   time.Time // when the latest of them ended
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
		logged := !o.failedAt.IsZero()
		if logged && now.Sub(o.latest) < recovered {
			return
		}
		if logged {
			l.write(ctx, slog.LevelInfo, "petstore: calls succeed again", info.Call,
				slog.Int("failed", o.failed), slog.Duration("duration", o.latest.Sub(o.begun)))
		}
		o.failed, o.failedAt = 0, time.Time{}
		return
	}
	o.latest = now
	if o.failed++; o.failed == 1 {
		o.begun = now
	}
	if o.failed >= manyFailures && now.Sub(o.failedAt) >= outageQuiet {
		o.failedAt = now
		l.write(ctx, slog.LevelWarn, "petstore: calls fail", info.Call, slog.Int("failed", o.failed),
			slog.Duration("duration", now.Sub(o.begun)), lineAttr("error", err.Error()))
	}
}

// waited logs that calls wait for windows for a long time.
func (l *clientLog) waited(ctx context.Context, c Call, w ratelimit.Wait) {
	if w.Reason != ratelimit.ReasonMinute && w.Reason != ratelimit.ReasonBackground {
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
		l.write(ctx, slog.LevelInfo, "petstore: calls wait", c, slog.String("reason", string(w.Reason)),
			slog.Int("waiting", w.Waiting), slog.Duration("duration", now.Sub(o.queueing)))
	}
}
