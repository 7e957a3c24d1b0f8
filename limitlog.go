package petstore

import (
	"context"
	"log/slog"
	"time"

	"github.com/petstore/petstore-go/ratelimit"
)

// countRejection warns if two 429s within a minute say that the window is used up: the limiter of
// one process keeps to its limit.
func (k *keyLog) countRejection(info AttemptDoneInfo, now time.Time, say say) {
	if r := info.RateLimit; !r.IsZero() && r.Remaining == 0 && info.RetryAfter <= time.Minute {
		if now.Sub(k.rejected) <= time.Minute {
			k.sayOthers(r, say)
		}
		k.rejected = now
	}
}

func (k *keyLog) sayOthers(w RateLimit, say say) {
	say(1, slog.LevelWarn, "petstore: other processes use the key", append(limitAttrs(w, k.lockout.Sent, k.lockout.Processes),
		slog.String("cure", "set PETSTORE_PROCESSES or WithProcesses(n), or share a limiter with petstoreredis"))...)
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

// limitClosed logs each lockout; of those of the minute, which may follow each other for days, one in
// an hour. A ban for requests that this process did not send is that of others.
func (l *clientLog) limitClosed(ctx context.Context, c Call, lockout ratelimit.Lockout) {
	l.decide(ctx, c, func(k *keyLog, _ time.Time, say say) {
		k.lockout = lockout
		most := 10
		if lockout.Scope == ratelimit.ScopeMinute {
			most = 1
		}
		k.silent = !say(most, slog.LevelWarn, "petstore: rate limit closed", lockoutAttrs(lockout)...)
		if w := lockout.Window; lockout.Scope == ratelimit.ScopeBan && w.Limit-w.Remaining-lockout.Sent > w.Limit/4 {
			k.sayOthers(w, say)
		}
	})
}

// limitOpened logs the end of each lockout that has a line.
func (l *clientLog) limitOpened(ctx context.Context, c Call, lockout ratelimit.Lockout) {
	l.decide(ctx, c, func(k *keyLog, _ time.Time, say say) {
		if !k.silent {
			say(10, slog.LevelInfo, "petstore: rate limit open again", lockoutAttrs(lockout)...)
		}
	})
}

func (l *clientLog) limitChanged(ctx context.Context, c Call, from, to RateLimit) {
	l.decide(ctx, c, func(_ *keyLog, _ time.Time, say say) {
		say(4, slog.LevelWarn, "petstore: limit changed", slog.Int("from", from.Limit), slog.Int("to", to.Limit), slog.Int("remaining", to.Remaining))
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
