package petstore

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"
)

const (
	// A failure weighs as much as nine successes of its operation: the log says that calls fail if a
	// tenth of them does, or five in a row. One that fails is a matter of its caller.
	failureWeight, manyFailures = 9, 5 * 9
	// slowRequest is how long a request takes that is slow: people leave. manySlow is how many more
	// of them than quick ones have a line.
	slowRequest, manySlow = 5 * time.Second, 5
	// manyDoubts outcomes in doubt have a line each, the others one together in each doubtsEvery.
	manyDoubts, doubtsEvery = 10, 5 * time.Minute
)

// outage is what the log records about calls that fail. Whatever the number of calls, an outage has
// less than twenty lines in its first quarter of an hour.
type outage struct {
	failed        int             // calls without a minute of successes between them
	begun, latest time.Time       // when the first and the last of them ended
	named         map[string]bool // error types that have a line
	lines         repeats         // about them

	slow      int // slow requests minus quick ones, not below 0
	slowLines repeats

	doubts   int       // outcomes in doubt
	doubtsAt time.Time // the last line about them
}

// failure is the class and the text of an error.
type failure struct{ class, text string }

// failureOf must not be called with a lock held: it calls methods of the errors of others.
func failureOf(class string, err error) failure {
	if err == nil {
		return failure{class: class}
	}
	return failure{class, err.Error()}
}

// countRequest logs that requests are slow. If one was given up for that, its call has failed.
func (o *outage) countRequest(info AttemptDoneInfo, f failure, k *keyLog, now time.Time, say say) {
	if info.Duration < slowRequest || !info.Sent {
		if o.slow = max(0, o.slow-1); o.slow == 0 && now.Sub(o.slowLines.since) >= doubtsEvery {
			o.slowLines = repeats{} // the next ones are news
		}
		return
	}
	took := slog.Duration("duration", info.Duration.Round(time.Millisecond))
	if o.slow = min(o.slow+1, 2*manySlow); o.slow >= manySlow && o.slowLines.among(1, now) {
		say(slog.LevelWarn, "petstore: requests are slow", append(known(lineAttr("error", f.text)), took)...)
	}
	if f.class == "canceled" {
		f.text = "no response after " + took.Value.String() + ": " + f.text
		o.fail(k, info.Call.Operation, f, now, say)
	}
}

// callDone logs what the end of a call says.
func (l *clientLog) callDone(ctx context.Context, info CallDoneInfo) {
	f, c := failureOf(info.ErrorType(), info.Err), info.Call
	unknown, limited := errors.Is(info.Err, ErrOutcomeUnknown), errors.Is(info.Err, ErrRateLimited)
	l.decide(ctx, c, func(k *keyLog, now time.Time, say say) {
		if c.Operation == OpGetPet && !l.deprecated {
			l.deprecated = true
			say(slog.LevelWarn, "petstore: deprecated operation", slog.String("removal", "2030-12-05"), slog.String("instead", OpListPets))
		}
		l.outage.countDoubt(unknown, info.Duration, f.text, now, say)
		switch {
		case limited, f.class == "canceled", f.class == "stopped", f.class == "invalid_argument":
			// says nothing about the service
		case f.class == "", f.class == "400", f.class == "404" && strings.Contains(c.Template, "{"): // else the URL is wrong
			l.succeed(k, c.Operation, now, say)
		default:
			l.outage.fail(k, c.Operation, f, now, say)
		}
	})
}

// countDoubt logs a call whose outcome is unknown, since a person has to look for the pet.
func (o *outage) countDoubt(unknown bool, took time.Duration, text string, now time.Time, say say) {
	over := now.Sub(o.doubtsAt) >= doubtsEvery
	if more := o.doubts - manyDoubts; over && more > 0 {
		say(slog.LevelWarn, "petstore: more outcomes unknown", slog.Int("calls", more))
		o.doubts, o.doubtsAt, over = manyDoubts, now, false
	}
	if !unknown {
		return
	}
	if over {
		o.doubts = 0
	}
	if o.doubts++; o.doubts <= manyDoubts {
		o.doubtsAt = now
		say(slog.LevelWarn, "petstore: outcome unknown", slog.Duration("duration", took), lineAttr("error", text))
	}
}

// fail counts a call that failed, and logs that calls fail: once for each class of errors, and every
// hour.
func (o *outage) fail(k *keyLog, operation string, f failure, now time.Time, say say) {
	if o.failed++; o.failed == 1 {
		o.begun = now
	}
	o.latest = now
	k.failures[operation] = min(k.failures[operation]+failureWeight, 2*manyFailures)
	if now.Sub(o.lines.since) >= time.Hour {
		o.named = make(map[string]bool)
	}
	if k.failures[operation] >= manyFailures && !o.named[f.class] && o.lines.among(4, now) {
		o.named[f.class] = true
		say(slog.LevelWarn, "petstore: calls fail", slog.Int("failed", o.failed), slog.Duration("duration", now.Sub(o.begun)),
			slog.String("error_type", f.class), lineAttr("error", f.text))
	}
}

// succeed counts a call that did not fail. After a minute without failures, an outage is over.
func (l *clientLog) succeed(k *keyLog, operation string, now time.Time, say say) {
	o := &l.outage
	if k.failures[operation]--; k.failures[operation] <= 0 {
		delete(k.failures, operation)
	}
	if o.failed == 0 || now.Sub(o.latest) < time.Minute {
		return
	}
	if len(o.named) > 0 {
		say(slog.LevelInfo, "petstore: calls succeed again", slog.Int("failed", o.failed), slog.Duration("duration", o.latest.Sub(o.begun)))
		for _, k := range l.keys {
			clear(k.failures)
		}
	}
	o.failed, o.named, o.lines = 0, nil, repeats{}
}
