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
//	petstore: outcome unknown       Warn   duration error; a write may have been carried out
//	petstore: more outcomes unknown Warn   calls; after ten of them, every five minutes
//	petstore: rate limit closed     Warn   scope until limit remaining sent processes; once for each
//	                                       lockout, but for the minute's once in an hour
//	petstore: rate limit open again Info   the same, for each lockout that has a line
//	petstore: calls wait            Info   reason waiting duration limit remaining sent processes;
//	                                       when calls have waited in each of five minutes
//	petstore: other processes use the key
//	                                Warn   limit remaining sent processes cure; when 429s come in
//	                                       two used-up minutes in a row; once in an hour
//	petstore: key refused           Warn   status; once until the key works again
//	petstore: deprecated operation  Warn   removal instead; once
//
// The last six have at most four lines in an hour for each key. Each line also has operation,
// key_id, which is a [Call].KeyID, and call_id, which is the same on all lines of a call. reason is
// a [ratelimit.Reason] and scope a [ratelimit.Reason]; sent is how many requests of this process the
// window has counted, and processes the number of processes that the limiter was told. An attribute
// that is not known is left out. The API key and bodies are never logged. A handler of l may make
// calls: if it makes them with the context that it got, they are not logged. A nil logger, the
// default, logs nothing.
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
		LimitClosed: l.limitClosed, LimitOpened: l.limitOpened,
	}
}

// clientLog is the log of a client and of the clients that its ForKey made.
type clientLog struct {
	logger     *slog.Logger
	mu         sync.Mutex
	keys       map[string]*keyLog // by Call.KeyID
	outage     outage
	deprecated bool // warned about the deprecated operation
}

// keyLog is what the log remembers about one key.
type keyLog struct {
	repeats      map[string]repeats // by message
	failures     map[string]int     // weight of the failures of each operation
	unauthorized bool               // the service answers 401
	// usedUp is the Reset of the last 429 that came because the minute was used up: it identifies the
	// window of that 429.
	usedUp  time.Time
	lockout ratelimit.Lockout // the last one
	// silent reports whether the last lockout had no line: then its end has none, either.
	silent bool
	wait   ratelimit.Wait // the last one for a window
	waited time.Time      // the end of wait
	// queueing is when the present series of waits began: of waits with less than a minute between
	// them.
	queueing time.Time
}

// repeats counts the lines with one message in an hour. Lines are counted by key and message, so
// that what happens to one key never hides the lines of another.
type repeats struct {
	since time.Time
	lines int
}

// event is an event of a call, with what the log remembers about its key. Which lines it adds is
// decided while the lock is held. They are written when the lock is released and the call has no
// permit, because a handler may hang, panic or make calls.
type event struct {
	*keyLog
	log   *clientLog
	ctx   context.Context
	call  Call
	now   time.Time
	lines []func()
}

// on decides with rule what an event of a call adds to the log, and writes it.
func (l *clientLog) on(ctx context.Context, c Call, rule func(e *event)) {
	e := &event{log: l, ctx: ctx, call: c, now: time.Now()}
	func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if e.keyLog = l.keys[c.KeyID]; e.keyLog == nil {
			// Keys that rotate each hour must not fill the memory, so all are forgotten at times.
			if len(l.keys) >= 1000 {
				clear(l.keys)
			}
			e.keyLog = &keyLog{repeats: make(map[string]repeats), failures: make(map[string]int)}
			l.keys[c.KeyID] = e.keyLog
		}
		rule(e)
	}()
	for _, write := range e.lines {
		write()
	}
}

// inLog is the context's key that marks the calls that a handler makes. They are not logged, since
// the handler would then log them without end.
type inLog struct{}

// write writes a line with the attributes that all lines have, unless a handler made the call.
func (l *clientLog) write(ctx context.Context, c Call, level slog.Level, message string, attrs ...slog.Attr) {
	if ctx.Value(inLog{}) == nil {
		of := known(slog.String("operation", c.Operation), slog.String("call_id", c.ID), slog.String("key_id", c.KeyID))
		l.logger.LogAttrs(context.WithValue(ctx, inLog{}, true), level, message, append(of, attrs...)...)
	}
}

// say adds a line, and reports whether it did. It adds none if there were already most lines with
// this message about the key within an hour.
func (e *event) say(most int, level slog.Level, message string, attrs ...slog.Attr) bool {
	r := e.repeats[message]
	if e.now.Sub(r.since) >= time.Hour {
		r = repeats{since: e.now}
	}
	if r.lines++; r.lines > most {
		return false
	}
	e.repeats[message] = r
	e.lines = append(e.lines, func() { e.log.write(e.ctx, e.call, level, message, attrs...) })
	return true
}

// attemptDone logs each request, and what its response says about the key. It takes the text of the
// error before the lock: the method Error may be code of the user.
func (l *clientLog) attemptDone(ctx context.Context, info AttemptDoneInfo) {
	class, text := info.ErrorType(), errorText(info.Err)
	// The attributes take time: they are made only if somebody reads them.
	if l.logger.Enabled(ctx, slog.LevelDebug) {
		l.write(ctx, info.Call, slog.LevelDebug, "petstore: attempt", append([]slog.Attr{
			slog.String("method", info.Call.Method), slog.String("path", info.Call.Template),
			slog.Int("attempt", info.Call.Attempt), slog.Duration("duration", info.Duration),
		}, known(slog.Int("status", info.StatusCode), slog.Any("rate_limit", info.RateLimit),
			slog.Duration("retry_after", info.RetryAfter), slog.String("error_type", class), lineAttr("error", text))...)...)
	}
	l.on(ctx, info.Call, func(e *event) {
		switch r := info.RateLimit; {
		// Two used-up windows in a row had a 429. The limiter keeps its own process within a window, so
		// others use the key. Requests that were in flight together get 429s of one window, whose Reset
		// may move by some seconds where windows slide.
		case info.StatusCode == http.StatusTooManyRequests && !r.IsZero() && r.Remaining == 0 && info.RetryAfter <= time.Minute:
			if apart := r.Reset.Sub(e.usedUp); apart > 10*time.Second && apart <= 2*time.Minute {
				e.say(1, slog.LevelWarn, "petstore: other processes use the key", append(limitAttrs(r, e.lockout.Sent, e.lockout.Processes),
					slog.String("cure", "set PETSTORE_PROCESSES or WithProcesses(n), or share a limiter with petstoreredis"))...)
			}
			e.usedUp = r.Reset
		case info.StatusCode == http.StatusUnauthorized && !e.unauthorized:
			e.unauthorized = true
			e.say(4, slog.LevelWarn, "petstore: key refused", slog.Int("status", info.StatusCode))
		case info.StatusCode/100 == 2:
			e.unauthorized = false
		}
		// Calls wait if they waited in each window for five minutes. A wait in one or two windows is
		// usual after a burst, and has no line.
		if lasts := e.waited.Sub(e.queueing); e.now.Sub(e.waited) <= time.Minute && lasts >= 5*time.Minute {
			attrs := []slog.Attr{slog.String("reason", string(e.wait.Reason)), slog.Int("waiting", e.wait.Waiting), slog.Duration("duration", lasts)}
			e.say(1, slog.LevelInfo, "petstore: calls wait", append(attrs, limitAttrs(e.wait.Window, e.wait.Sent, e.wait.Processes)...)...)
		}
		e.took(info, class, text)
	})
}

// waitStart logs that a call waits, and for what. That is usual near the limit, so its level is
// Debug.
func (l *clientLog) waitStart(ctx context.Context, c Call, w ratelimit.Wait) {
	if l.logger.Enabled(ctx, slog.LevelDebug) {
		attrs := known(slog.String("reason", string(w.Reason)), slog.Time("until", w.Until))
		l.write(ctx, c, slog.LevelDebug, "petstore: waiting", append(attrs, slog.Int("waiting", w.Waiting))...)
	}
}

// waitDone remembers a wait, and writes nothing, since the call has its permit now: if a handler
// made a call, that call might wait for the response to this one.
func (l *clientLog) waitDone(ctx context.Context, c Call, w ratelimit.Wait) {
	if w.Reason == ratelimit.ReasonMinute || w.Reason == ratelimit.ReasonBackground {
		l.on(ctx, c, func(e *event) {
			if begun := e.now.Add(-w.Duration); begun.Sub(e.waited) > time.Minute {
				e.queueing = begun
			}
			e.wait, e.waited = w, e.now
		})
	}
}

// limitClosed logs each lockout. Those of the minute may follow each other for days, so only one in
// an hour is logged.
func (l *clientLog) limitClosed(ctx context.Context, c Call, lockout ratelimit.Lockout) {
	most := 10
	if lockout.Reason == ratelimit.ReasonMinute {
		most = 1
	}
	l.on(ctx, c, func(e *event) {
		e.lockout, e.silent = lockout, !e.say(most, slog.LevelWarn, "petstore: rate limit closed", lockoutAttrs(lockout)...)
	})
}

// limitOpened logs the end of each lockout whose beginning was logged.
func (l *clientLog) limitOpened(ctx context.Context, c Call, lockout ratelimit.Lockout) {
	l.on(ctx, c, func(e *event) {
		if !e.silent {
			e.say(10, slog.LevelInfo, "petstore: rate limit open again", lockoutAttrs(lockout)...)
		}
	})
}

// lockoutAttrs returns the attributes of a lockout: its limit, its end, and the numbers of its
// window.
func lockoutAttrs(l ratelimit.Lockout) []slog.Attr {
	attrs := known(slog.String("scope", string(l.Reason)), slog.Time("until", l.Until))
	return append(attrs, limitAttrs(l.Window, l.Sent, l.Processes)...)
}

// limitAttrs returns the numbers that show whose requests use up a limit.
func limitAttrs(w RateLimit, sent, processes int) (attrs []slog.Attr) {
	if !w.IsZero() {
		attrs = append(attrs, slog.Int("limit", w.Limit), slog.Int("remaining", w.Remaining))
	}
	return append(append(attrs, slog.Int("sent", sent)), known(slog.Int("processes", processes))...)
}

// errorText returns the text of an error; empty for none.
func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
