package petstoreredis

import (
	"context"
	"log/slog"
	"time"
)

const (
	// tryEvery is the time between two commands during a fallback: each may take as long as the
	// timeout.
	tryEvery = time.Second
	// firstTimeout is the least timeout of a command until a process has settled: the first commands
	// also connect and load the script, and a process without knowledge has only a small share.
	firstTimeout = time.Second
	// settled is the time after the first reply from which on Redis knows all other processes.
	settled = 10 * time.Second
	// calm is the time without a fallback after which the next one counts as the first again.
	calm = time.Minute
	// mostTries limits the number of commands in a row that must succeed to end a fallback.
	mostTries = 8
	// logEvery is the least time between two lines of the log.
	logEvery = time.Minute
)

// fallback is how this process goes on while Redis does not reply, now and before.
type fallback struct {
	heard  time.Time // when the first reply came
	most   int       // highest number of processes in the replies of the last minute
	mostAt time.Time // when that reply came
	share  *share    // what this process may send; nil while there is no fallback

	since   time.Time // start of the last fallback
	endedAt time.Time // its end
	tryAt   time.Time // when to send the next command
	tries   int       // commands in a row that succeeded
	needed  int       // tries that end the fallback
	reason  error     // of the last one

	logAt    time.Time // earliest time of the next line of the log
	logTimer *time.Timer
	logged   Stats // at the last line
}

// timeout returns the timeout of a command that is sent now.
func (l *Limiter) timeout() time.Duration {
	if heard := l.fallback.heard; heard.IsZero() || time.Since(heard) < settled {
		return max(l.config.timeout, firstTimeout)
	}
	return l.config.timeout
}

// divisor returns the number of processes among which the key is divided, and whether that is known.
// Shortly after the start Redis may not know all of them.
func (l *Limiter) divisor(now time.Time) (processes int, known bool) {
	a := &l.fallback
	switch {
	case l.config.share > 0:
		return l.config.share, true
	case a.heard.IsZero() || now.Sub(a.heard) < settled:
		return max(a.most, unknownShare), false
	}
	return a.most, true
}

// countProcesses records the number of processes in a reply.
func (a *fallback) countProcesses(processes int, now time.Time) {
	if a.heard.IsZero() {
		a.heard = now
	}
	if processes >= a.most || now.Sub(a.mostAt) > calm {
		a.most, a.mostAt = processes, now
	}
}

// startFallback starts a fallback, unless there is one already.
func (l *Limiter) startFallback(now time.Time, err error) {
	a := &l.fallback
	a.tryAt, a.tries = now.Add(tryEvery), 0
	if a.share != nil {
		return
	}
	if a.needed == 0 || now.Sub(a.endedAt) > calm {
		a.needed = 1
	} else {
		a.needed = min(2*a.needed, mostTries)
	}
	processes, known := l.divisor(now)
	a.share = newShare(&l.known, processes, known, l.inFlight, now)
	if l.rejected.StatusCode != 0 {
		a.share.record(nil, &l.rejected, now)
	}
	a.since, a.reason = now, err
	l.stats.Away = true
	l.stats.Fallbacks++
	l.unused = nil
	l.note(now)
	l.refuseAsked(now)
}

// endFallback counts a reply that came in time, and ends the fallback after enough of them. If one
// were enough, a Redis that is often slow would start and end a fallback each second.
func (l *Limiter) endFallback(now time.Time) {
	a := &l.fallback
	a.tries++
	a.tryAt = now.Add(tryEvery)
	if a.tries < a.needed {
		return
	}
	a.share, a.endedAt = nil, now
	l.stats.Away = false
	l.stats.AwayFor += now.Sub(a.since)
	l.note(now)
}

// note logs the start and the end of a fallback, and a repair of the state. There is at most one line
// in logEvery; a change within that time is logged at its end.
func (l *Limiter) note(now time.Time) {
	a, s := &l.fallback, l.stats
	if l.config.logger == nil || a.logTimer != nil || s.Away == a.logged.Away && s.Repairs == a.logged.Repairs {
		return
	}
	if now.Before(a.logAt) {
		a.logTimer = time.AfterFunc(a.logAt.Sub(now), func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			a.logTimer = nil
			l.note(time.Now())
		})
		return
	}
	text, fields := l.line()
	a.logAt, a.logged = now.Add(logEvery), s
	// On a goroutine of its own, because the user's handler may call the limiter.
	go l.config.logger.LogAttrs(context.Background(), slog.LevelWarn, text, fields...) //nolint:sloglint // line's
}

// line returns the text and the fields of a line of the log.
func (l *Limiter) line() (string, []slog.Attr) {
	a, s := &l.fallback, l.stats
	fields := []slog.Attr{
		slog.String("name", s.Name), slog.Int("fallbacks", s.Fallbacks-a.logged.Fallbacks),
		slog.Duration("away", s.AwayFor), slog.Int("repairs", s.Repairs-a.logged.Repairs),
	}
	switch {
	case s.Away == a.logged.Away:
		return "petstoreredis: the state in redis could not be read, and was begun afresh", fields
	case s.Away:
		fields = append(fields, slog.String("error", a.reason.Error()), slog.Int("share", a.share.processes))
		return "petstoreredis: redis is away, this process keeps to its share", fields
	}
	return "petstoreredis: redis is back", fields
}
