package petstore

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"
)

// outage is what the log remembers about calls that fail. However many calls there are, an outage
// of 18 minutes has at most twenty lines.
type outage struct {
	// failed is how many calls have failed since the last minute without a failure. begun and latest
	// are when the first and the last of these calls ended.
	failed        int
	begun, latest time.Time
	// named is when each error type had its last line in this outage.
	named map[string]time.Time
	// slow is the number of slow requests minus that of quick ones, but never below 0.
	slow int
	// doubts is how many calls with an unknown outcome have had no line yet. doubtsAt is when the last
	// line about such calls was written.
	doubts   int
	doubtsAt time.Time
}

const (
	// A failure weighs as much as nine successes of its operation. So the log says that calls fail if
	// a tenth of them does, or five in a row. A single call that fails is a matter of its caller.
	failureWeight, manyFailures = 9, 5 * 9
	// A request is slow after five seconds, which is about when people give up. It is worth a line if
	// there were five more slow requests than quick ones.
	slowRequest, manySlow = 5 * time.Second, 5
)

// took logs that requests are slow. A slow request that its caller gave up counts as a failed call.
func (e *event) took(info AttemptDoneInfo, class, text string) {
	o := &e.log.outage
	if info.Duration < slowRequest || !info.Sent {
		o.slow = max(0, o.slow-1)
		return
	}
	took := info.Duration.Round(time.Millisecond)
	if o.slow = min(o.slow+1, 2*manySlow); o.slow == manySlow {
		e.say(4, slog.LevelWarn, "petstore: requests are slow", append(known(lineAttr("error", text)), slog.Duration("duration", took))...)
	}
	if class == "canceled" {
		e.failed(class, "no response after "+took.String()+": "+text)
	}
}

// callDone logs what the end of a call says about the service.
func (l *clientLog) callDone(ctx context.Context, info CallDoneInfo) {
	class, text := info.ErrorType(), errorText(info.Err)
	unknown, limited := errors.Is(info.Err, ErrOutcomeUnknown), errors.Is(info.Err, ErrRateLimited)
	l.on(ctx, info.Call, func(e *event) {
		if row := operationOf(e.call.Operation); row.removal != "" && !l.deprecated {
			l.deprecated = true
			e.say(1, slog.LevelWarn, "petstore: deprecated operation", slog.String("removal", row.removal), slog.String("instead", row.instead))
		}
		// A person has to look for the pet of each such call. Ten calls have a line each; after that, one
		// line in five minutes counts the others.
		o := &l.outage
		switch {
		case !unknown:
		case e.say(10, slog.LevelWarn, "petstore: outcome unknown", slog.Duration("duration", info.Duration), lineAttr("error", text)):
			o.doubtsAt = e.now
		default:
			o.doubts++
		}
		if o.doubts > 0 && e.now.Sub(o.doubtsAt) >= 5*time.Minute {
			e.say(20, slog.LevelWarn, "petstore: more outcomes unknown", slog.Int("calls", o.doubts))
			o.doubts, o.doubtsAt = 0, e.now
		}
		switch {
		case limited, class == "canceled", class == "stopped", class == "invalid_argument":
			// These ends say nothing about the service. For the next case, a 404 to a path with a
			// parameter is a usual response; to another path, it means that the URL is wrong.
		case class == "", class == "400", class == "404" && strings.Contains(e.call.Template, "{"):
			e.succeeded()
		default:
			e.failed(class, text)
		}
	})
}

// failed counts a call that failed, and logs that calls fail: once in an hour for each of the first
// four error types of an outage.
func (e *event) failed(class, text string) {
	o, weight := &e.log.outage, min(e.failures[e.call.Operation]+failureWeight, 2*manyFailures)
	if o.failed++; o.failed == 1 {
		o.begun, o.named = e.now, make(map[string]time.Time)
	}
	o.latest, e.failures[e.call.Operation] = e.now, weight
	last, named := o.named[class]
	if weight >= manyFailures && e.now.Sub(last) >= time.Hour && (named || len(o.named) < 4) {
		o.named[class] = e.now
		e.say(10, slog.LevelWarn, "petstore: calls fail", slog.Int("failed", o.failed), slog.Duration("duration", e.now.Sub(o.begun)),
			slog.String("error_type", class), lineAttr("error", text))
	}
}

// succeeded counts a call that did not fail. After a minute without failures, an outage is over.
func (e *event) succeeded() {
	if e.failures[e.call.Operation]--; e.failures[e.call.Operation] <= 0 {
		delete(e.failures, e.call.Operation)
	}
	o := &e.log.outage
	if o.failed == 0 || e.now.Sub(o.latest) < time.Minute {
		return
	}
	if len(o.named) > 0 {
		e.say(10, slog.LevelInfo, "petstore: calls succeed again", slog.Int("failed", o.failed), slog.Duration("duration", o.latest.Sub(o.begun)))
		for _, k := range e.log.keys {
			clear(k.failures)
		}
	}
	o.failed = 0
}
