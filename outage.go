package petstore

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"
)

const (
	// A failure weighs as much as nine successes of its operation: calls fail if a tenth of them does,
	// or five in a row. One that fails is a matter of its caller.
	failureWeight, manyFailures = 9, 5 * 9
	// A request is slow after five seconds, when people leave; five more than quick ones are many.
	slowRequest, manySlow = 5 * time.Second, 5
)

// outage is what the log records about calls that fail. Whatever the number of calls, an outage of 18
// minutes has at most twenty lines.
type outage struct {
	failed        int                  // calls without a minute of successes between them
	begun, latest time.Time            // when the first and the last of them ended
	named         map[string]time.Time // when an error type had a line
	slow          int                  // slow requests minus quick ones, not below 0
	doubts        int                  // outcomes in doubt that have no line yet
	doubtsAt      time.Time            // the last line about them
}

// classify returns the class and the text of an error. It must not be called with a lock held: it
// calls methods of the errors of others.
func classify(class string, err error) (string, string) {
	if err == nil {
		return class, ""
	}
	return class, err.Error()
}

// countRequest logs that requests are slow. If one was given up for that, its call has failed.
func (o *outage) countRequest(info AttemptDoneInfo, class, text string, k *keyLog, now time.Time, say say) {
	if info.Duration < slowRequest || !info.Sent {
		o.slow = max(0, o.slow-1)
		return
	}
	took := info.Duration.Round(time.Millisecond)
	if o.slow = min(o.slow+1, 2*manySlow); o.slow == manySlow {
		say(4, slog.LevelWarn, "petstore: requests are slow", append(known(lineAttr("error", text)), slog.Duration("duration", took))...)
	}
	if class == "canceled" {
		o.fail(k, info.Call.Operation, class, "no response after "+took.String()+": "+text, now, say)
	}
}

// callDone logs what the end of a call says.
func (l *clientLog) callDone(ctx context.Context, info CallDoneInfo) {
	class, text := classify(info.ErrorType(), info.Err)
	unknown, limited := errors.Is(info.Err, ErrOutcomeUnknown), errors.Is(info.Err, ErrRateLimited)
	l.decide(ctx, info.Call, func(k *keyLog, now time.Time, say say) {
		operation, o := info.Call.Operation, &l.outage
		if row := operationOf(operation); row.removal != "" && !l.deprecated {
			l.deprecated = true
			say(1, slog.LevelWarn, "petstore: deprecated operation", slog.String("removal", row.removal), slog.String("instead", row.instead))
		}
		// A person has to look for the pet: ten have a line each, the others one in five minutes.
		switch {
		case !unknown:
		case say(10, slog.LevelWarn, "petstore: outcome unknown", slog.Duration("duration", info.Duration), lineAttr("error", text)):
			o.doubtsAt = now
		default:
			o.doubts++
		}
		if o.doubts > 0 && now.Sub(o.doubtsAt) >= 5*time.Minute {
			say(20, slog.LevelWarn, "petstore: more outcomes unknown", slog.Int("calls", o.doubts))
			o.doubts, o.doubtsAt = 0, now
		}
		switch {
		case limited, class == "canceled", class == "stopped", class == "invalid_argument":
			// says nothing about the service
		case class == "", class == "400", class == "404" && strings.Contains(info.Call.Template, "{"): // else the URL is wrong
			l.succeed(k, operation, now, say)
		default:
			o.fail(k, operation, class, text, now, say)
		}
	})
}

// fail counts a call that failed, and logs that calls fail, for each of four error types in an hour.
func (o *outage) fail(k *keyLog, operation, class, text string, now time.Time, say say) {
	if o.failed++; o.failed == 1 {
		o.begun, o.named = now, make(map[string]time.Time)
	}
	o.latest = now
	k.failures[operation] = min(k.failures[operation]+failureWeight, 2*manyFailures)
	if k.failures[operation] >= manyFailures && now.Sub(o.named[class]) >= time.Hour && len(o.named) <= 4 {
		o.named[class] = now
		say(10, slog.LevelWarn, "petstore: calls fail", slog.Int("failed", o.failed), slog.Duration("duration", now.Sub(o.begun)),
			slog.String("error_type", class), lineAttr("error", text))
	}
}

// succeed counts a call that did not fail. After a minute without failures, an outage is over.
func (l *clientLog) succeed(k *keyLog, operation string, now time.Time, say say) {
	if k.failures[operation]--; k.failures[operation] <= 0 {
		delete(k.failures, operation)
	}
	o := &l.outage
	if o.failed == 0 || now.Sub(o.latest) < time.Minute {
		return
	}
	if len(o.named) > 0 {
		say(10, slog.LevelInfo, "petstore: calls succeed again", slog.Int("failed", o.failed), slog.Duration("duration", o.latest.Sub(o.begun)))
		for _, k := range l.keys {
			clear(k.failures)
		}
	}
	o.failed = 0
}
