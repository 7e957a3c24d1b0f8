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
	lines    map[string]repeats // by message
	failures map[string]int     // weight of the failures of each operation
	refused  bool               // the service answers 401
	rejected time.Time          // last 429 for which the minute's window was used up
	lockout  ratelimit.Lockout  // the last one
	silent   bool               // it has no line
	wait     ratelimit.Wait     // the last one for a window
	waited   time.Time          // its end
	queueing time.Time          // the start of the first of those that followed each other
}

// repeats counts the lines with one message in an hour.
type repeats struct {
	since time.Time
	lines int
}

// say has a line written when the lock is free, unless that many with its message were written about
// the key within an hour. It reports whether it does.
type say func(most int, level slog.Level, message string, attrs ...slog.Attr) bool

// decide writes the lines that a rule says about a call.
func (l *clientLog) decide(ctx context.Context, c Call, rule func(k *keyLog, now time.Time, say say)) {
	var lines []func()
	l.mu.Lock()
	k, now := l.keys[c.KeyID], time.Now()
	if k == nil {
		if len(l.keys) >= 1000 { // or a key that rotates each hour would fill the memory
			clear(l.keys)
		}
		k = &keyLog{lines: make(map[string]repeats), failures: make(map[string]int)}
		l.keys[c.KeyID] = k
	}
	rule(k, now, func(most int, level slog.Level, message string, attrs ...slog.Attr) bool {
		r := k.lines[message]
		if now.Sub(r.since) >= time.Hour {
			r = repeats{since: now}
		}
		if r.lines++; r.lines > most {
			return false
		}
		k.lines[message] = r
		lines = append(lines, func() { l.write(ctx, c, level, message, attrs) })
		return true
	})
	l.mu.Unlock()
	for _, write := range lines {
		write()
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
	class, text := classify(info.ErrorType(), info.Err)
	if l.logger.Enabled(ctx, slog.LevelDebug) { // or the attributes would cost each request something
		l.write(ctx, info.Call, slog.LevelDebug, "petstore: attempt", append([]slog.Attr{
			slog.String("method", info.Call.Method), slog.String("path", info.Call.Template),
			slog.Int("attempt", info.Call.Attempt), slog.Duration("duration", info.Duration),
		}, known(slog.Int("status", info.StatusCode), slog.Any("rate_limit", info.RateLimit),
			slog.Duration("retry_after", info.RetryAfter), slog.String("error_type", class), lineAttr("error", text))...))
	}
	l.decide(ctx, info.Call, func(k *keyLog, now time.Time, say say) {
		switch {
		case info.StatusCode == http.StatusTooManyRequests:
			k.countRejection(info, now, say)
		case info.StatusCode == http.StatusUnauthorized && !k.refused:
			k.refused = true
			say(4, slog.LevelWarn, "petstore: key refused", slog.Int("status", info.StatusCode))
		case info.StatusCode/100 == 2:
			k.refused = false
		}
		// Calls wait if they do in each window for five minutes: after a burst, one or two are usual.
		if lasts := k.waited.Sub(k.queueing); now.Sub(k.waited) <= time.Minute && lasts >= 5*time.Minute {
			attrs := []slog.Attr{slog.String("reason", string(k.wait.Reason)), slog.Int("waiting", k.wait.Waiting), slog.Duration("duration", lasts)}
			say(1, slog.LevelInfo, "petstore: calls wait", append(attrs, limitAttrs(k.wait.Window, k.wait.Sent, k.wait.Processes)...)...)
		}
		l.outage.countRequest(info, class, text, k, now, say)
	})
}
