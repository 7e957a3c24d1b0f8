package petstore

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/petstore/petstore-go/ratelimit"
)

// WithLogger makes the Client log to l. The messages, levels and attributes are stable:
//
//	petstore: attempt               Debug  method path attempt duration status rate_limit
//	                                       retry_after error_type error
//	petstore: waiting               Debug  reason until waiting
//	petstore: calls fail            Warn   failed duration error_type error; when a tenth of the
//	                                       calls of an operation or five in a row have failed, for
//	                                       another error_type, and every hour
//	petstore: calls succeed again   Info   failed duration; when none has failed for a minute
//	petstore: requests are slow     Warn   duration error; when many take five seconds or more
//	petstore: outcome unknown       Warn   duration error; the pet may have been created
//	petstore: more outcomes unknown Warn   calls; after ten of them, every five minutes
//	petstore: rate limit closed     Warn   scope until limit remaining sent processes; once for each
//	                                       lockout, but for the minute's once in an hour
//	petstore: rate limit open again Info   the same, for each lockout that has a line
//	petstore: limit changed         Warn   from to remaining
//	petstore: calls wait            Info   reason waiting duration limit remaining sent processes;
//	                                       when calls have waited in each of five minutes
//	petstore: other processes use the key
//	                                Warn   limit remaining sent processes cure
//	petstore: key refused           Warn   status; once until the key works again
//	petstore: deprecated operation  Warn   removal instead; once
//
// The last six have at most four lines in an hour for each key. Each line also has operation, key_id,
// which is a [Call].KeyID, and call_id, which is the same on all lines of a call. reason is a
// [ratelimit.Reason] and scope a [ratelimit.Scope]; sent is how many requests of this process the window
// has counted, processes how many the limiter was told. An attribute that is not known is left out.
// The API key and bodies are never logged. A call that a handler of l makes with its context has no
// lines. A nil logger, the default, logs nothing.
func WithLogger(l *slog.Logger) Option {
	return forClient("", "", func(c *clientConfig) {
		if c.log = nil; l != nil {
			c.log = logTrace(l)
		}
	})
}

// logTrace returns the trace that writes a log.
func logTrace(logger *slog.Logger) *ClientTrace {
	l := &clientLog{logger: logger, keys: make(map[string]*keyLog)}
	return &ClientTrace{
		AttemptDone: l.attemptDone, CallDone: l.callDone, WaitStart: l.waitStart, WaitDone: l.waitDone,
		LimitClosed: l.limitClosed, LimitOpened: l.limitOpened, LimitChanged: l.limitChanged,
	}
}

// clientLog is the log of a client and of those of ForKey. What to write is decided with the lock
// held, and written after it, when the call has no permit: a handler may hang, panic or make calls.
type clientLog struct {
	logger     *slog.Logger
	mu         sync.Mutex
	keys       map[string]*keyLog // by Call.KeyID
	outage     outage
	deprecated bool // warned about the deprecated operation
}

// keyLog is what the log records about one key.
type keyLog struct {
	failures map[string]int    // weight of the failures of each operation
	refused  bool              // the service answers 401
	rejected time.Time         // last 429 for which the minute's window was used up
	lockout  ratelimit.Lockout // the last one
	silent   bool              // it has no line
	wait     ratelimit.Wait    // the last one for a window
	waited   time.Time         // its end
	queueing time.Time         // the start of the first of those that followed each other

	refusals, minutes, lockouts, changes, others, queues repeats
}

// repeats counts the lines about one thing in an hour.
type repeats struct {
	since time.Time
	lines int
}

// among counts a line, and reports whether it is one of the first in an hour.
func (r *repeats) among(first int, now time.Time) bool {
	if now.Sub(r.since) >= time.Hour {
		*r = repeats{since: now}
	}
	r.lines++
	return r.lines <= first
}

// say adds a line to those that are written when the lock is free.
type say func(level slog.Level, message string, attrs ...slog.Attr)

// decide writes the lines that a rule says about a call.
func (l *clientLog) decide(ctx context.Context, c Call, rule func(k *keyLog, now time.Time, say say)) {
	var write []func()
	l.mu.Lock()
	if l.keys[c.KeyID] == nil {
		if len(l.keys) >= 1000 { // or a key that rotates each hour would fill the memory
			clear(l.keys)
		}
		l.keys[c.KeyID] = &keyLog{failures: make(map[string]int)}
	}
	rule(l.keys[c.KeyID], time.Now(), func(level slog.Level, message string, attrs ...slog.Attr) {
		write = append(write, func() { l.write(ctx, c, level, message, attrs) })
	})
	l.mu.Unlock()
	for _, line := range write {
		line()
	}
}

// inLog is the context's key that marks the calls of a handler: they have no lines of their own.
type inLog struct{}

func (l *clientLog) write(ctx context.Context, c Call, level slog.Level, message string, attrs []slog.Attr) {
	if ctx.Value(inLog{}) == nil {
		of := known(slog.String("operation", c.Operation), slog.String("call_id", c.ID), slog.String("key_id", c.KeyID))
		l.logger.LogAttrs(context.WithValue(ctx, inLog{}, true), level, message, append(of, attrs...)...)
	}
}

// attemptDone logs each request, and what its response says about the key.
func (l *clientLog) attemptDone(ctx context.Context, info AttemptDoneInfo) {
	if l.logger.Enabled(ctx, slog.LevelDebug) { // or the attributes would cost each request something
		l.write(ctx, info.Call, slog.LevelDebug, "petstore: attempt", attemptAttrs(info))
	}
	failure := failureOf(info.ErrorType(), info.Err)
	l.decide(ctx, info.Call, func(k *keyLog, now time.Time, say say) {
		switch {
		case info.StatusCode == http.StatusTooManyRequests:
			k.countRejection(info, now, say)
		case info.StatusCode == http.StatusUnauthorized:
			if !k.refused && k.refusals.among(4, now) {
				say(slog.LevelWarn, "petstore: key refused", slog.Int("status", info.StatusCode))
			}
			k.refused = true
		case info.StatusCode/100 == 2:
			k.refused = false
		}
		k.reportQueue(now, say)
		l.outage.countRequest(info, failure, k, now, say)
	})
}

func attemptAttrs(info AttemptDoneInfo) []slog.Attr {
	attrs := []slog.Attr{
		slog.String("method", info.Call.Method), slog.String("path", info.Call.Template),
		slog.Int("attempt", info.Call.Attempt), slog.Duration("duration", info.Duration),
	}
	attrs = append(attrs, known(slog.Int("status", info.StatusCode), slog.Any("rate_limit", info.RateLimit),
		slog.Duration("retry_after", info.RetryAfter), slog.String("error_type", info.ErrorType()))...)
	if info.Err != nil {
		attrs = append(attrs, lineAttr("error", info.Err.Error()))
	}
	return attrs
}

// countRejection warns if two 429s within a minute say that the window is used up: the limiter of
// one process keeps to its limit, so others use the key.
func (k *keyLog) countRejection(info AttemptDoneInfo, now time.Time, say say) {
	r := info.RateLimit
	if r.IsZero() || r.Remaining > 0 || info.RetryAfter > time.Minute {
		return
	}
	again := now.Sub(k.rejected) <= time.Minute
	if k.rejected = now; again {
		k.reportOthers(r, now, say)
	}
}

func (k *keyLog) reportOthers(w RateLimit, now time.Time, say say) {
	if k.others.among(1, now) {
		say(slog.LevelWarn, "petstore: other processes use the key", append(limitAttrs(w, k.lockout.Sent, k.lockout.Processes),
			slog.String("cure", "set PETSTORE_PROCESSES or WithProcesses(n), or share a limiter with petstoreredis"))...)
	}
}

func (l *clientLog) waitStart(ctx context.Context, c Call, w ratelimit.Wait) {
	attrs := known(slog.String("reason", string(w.Reason)), slog.Time("until", w.Until))
	l.write(ctx, c, slog.LevelDebug, "petstore: waiting", append(attrs, slog.Int("waiting", w.Waiting)))
}

// waitDone writes nothing: the call has its permit, for whose response calls of a handler would wait.
func (l *clientLog) waitDone(ctx context.Context, c Call, w ratelimit.Wait) {
	if w.Reason == ratelimit.Reason(ratelimit.ScopeMinute) || w.Reason == ratelimit.ReasonBackground {
		l.decide(ctx, c, func(k *keyLog, now time.Time, _ say) {
			if begun := now.Add(-w.Duration); begun.Sub(k.waited) > time.Minute {
				k.queueing = begun
			}
			k.wait, k.waited = w, now
		})
	}
}

// reportQueue logs that calls have waited for windows for five minutes, with a window's length
// between the waits at most: after a burst, one or two windows are usual.
func (k *keyLog) reportQueue(now time.Time, say say) {
	w, lasts := k.wait, k.waited.Sub(k.queueing)
	if now.Sub(k.waited) <= time.Minute && lasts >= 5*time.Minute && k.queues.among(1, now) {
		attrs := []slog.Attr{slog.String("reason", string(w.Reason)), slog.Int("waiting", w.Waiting), slog.Duration("duration", lasts)}
		say(slog.LevelInfo, "petstore: calls wait", append(attrs, limitAttrs(w.Window, w.Sent, w.Processes)...)...)
	}
}

// limitClosed logs each lockout; of those of the minute, which may follow each other for days, one in
// an hour.
func (l *clientLog) limitClosed(ctx context.Context, c Call, lockout ratelimit.Lockout) {
	l.decide(ctx, c, func(k *keyLog, now time.Time, say say) {
		k.lockout = lockout
		if k.silent = lockout.Scope == ratelimit.ScopeMinute && !k.minutes.among(1, now); !k.silent {
			say(slog.LevelWarn, "petstore: rate limit closed", lockoutAttrs(lockout)...)
		}
		if w := lockout.Window; lockout.Scope == ratelimit.ScopeBan && w.Limit-w.Remaining-lockout.Sent > w.Limit/2 {
			k.reportOthers(w, now, say)
		}
	})
}

// limitOpened logs the end of each lockout that has a line.
func (l *clientLog) limitOpened(ctx context.Context, c Call, lockout ratelimit.Lockout) {
	l.decide(ctx, c, func(k *keyLog, _ time.Time, say say) {
		if !k.silent {
			say(slog.LevelInfo, "petstore: rate limit open again", lockoutAttrs(lockout)...)
		}
	})
}

func (l *clientLog) limitChanged(ctx context.Context, c Call, from, to RateLimit) {
	l.decide(ctx, c, func(k *keyLog, now time.Time, say say) {
		if k.changes.among(4, now) {
			say(slog.LevelWarn, "petstore: limit changed", slog.Int("from", from.Limit), slog.Int("to", to.Limit), slog.Int("remaining", to.Remaining))
		}
	})
}

func lockoutAttrs(l ratelimit.Lockout) []slog.Attr {
	attrs := known(slog.String("scope", string(l.Scope)), slog.Time("until", l.Until))
	return append(attrs, limitAttrs(l.Window, l.Sent, l.Processes)...)
}

// limitAttrs returns the numbers of a limit: whose requests use it up.
func limitAttrs(w RateLimit, sent, processes int) (attrs []slog.Attr) {
	if !w.IsZero() {
		attrs = append(attrs, slog.Int("limit", w.Limit), slog.Int("remaining", w.Remaining))
	}
	return append(append(attrs, slog.Int("sent", sent)), known(slog.Int("processes", processes))...)
}
