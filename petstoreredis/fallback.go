package petstoreredis

import (
	"context"
	"log/slog"
	"time"
)

const (
	// tryEvery is how long Redis is left alone after it did not reply: each try may take as long as
	// the timeout.
	tryEvery = time.Second
	// firstTimeout is how long a command may take at least until a process has settled: the first
	// ones dial, say hello and load the script, and a process that knows nothing has no part of the
	// key.
	firstTimeout = time.Second
	// settled is how long after the first reply to this process Redis knows all other processes,
	// too.
	settled = 10 * time.Second
	// calm is how long Redis must reply until the next fallback counts as the first again.
	calm = time.Minute
	// mostTries bounds how many commands in a row have to succeed before a fallback ends.
	mostTries = 8
	// logEvery is the least time between two lines of the log.
	logEvery = time.Minute
)

// fallback is the state of the times without Redis, the present and the past.
type fallback struct {
	heard  time.Time // when Redis replied first
	most   int       // processes that it knew of at a time within the last minute
	mostAt time.Time // when
	share  *share    // what this process may send meanwhile; nil while Redis replies

	since   time.Time
	endedAt time.Time // when the last one ended
	tryAt   time.Time // when Redis is tried again
	tries   int       // in a row that succeeded
	needed  int       // of them to end it
	count   int       // so far
	total   time.Duration
	reason  error
	repairs int
	log     notes
}

// notes is what was logged last.
type notes struct {
	away    bool
	next    time.Time // the earliest time of the next line
	count   int       // fallback.count then
	repairs int       // fallback.repairs then
	timer   *time.Timer
}

// timeout returns how long a command that is sent now may take.
func (l *Limiter) timeout() time.Duration {
	if heard := l.fallback.heard; heard.IsZero() || time.Since(heard) < settled {
		return max(l.config.timeout, firstTimeout)
	}
	return l.config.timeout
}

// divisor returns among how many processes the key is divided, and whether that is known. Just
// after the start Redis may not know all of them yet.
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

// countProcesses takes over how many processes Redis knows.
func (a *fallback) countProcesses(processes int, now time.Time) {
	if a.heard.IsZero() {
		a.heard = now
	}
	if processes >= a.most || now.Sub(a.mostAt) > calm {
		a.most, a.mostAt = processes, now
	}
}

// startFallback goes on without Redis, unless the process does so already.
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
	a.since, a.reason = now, err
	a.count++
	l.unused = nil
	l.note(now)
	l.refuse(now, l.seq, true)
}

// endFallback counts a reply that came in time, and ends the fallback after enough of them.
// Otherwise a Redis that is too slow now and then would start and end a fallback each second.
func (l *Limiter) endFallback(now time.Time) {
	a := &l.fallback
	a.tries++
	a.tryAt = now.Add(tryEvery)
	if a.tries < a.needed {
		return
	}
	a.share, a.endedAt = nil, now
	a.total += now.Sub(a.since)
	l.note(now)
}

// note logs what has happened since the last line: that Redis is away or back, or that its state
// was repaired. There is at most one line in logEvery; what changes before is logged when that is
// over.
func (l *Limiter) note(now time.Time) {
	a := &l.fallback
	n := &a.log
	away := a.share != nil
	if l.config.logger == nil || n.timer != nil || away == n.away && a.repairs == n.repairs {
		return
	}
	if now.Before(n.next) {
		n.timer = time.AfterFunc(n.next.Sub(now), func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			n.timer = nil
			l.note(time.Now())
		})
		return
	}
	text, fields := l.line(away)
	n.away, n.next, n.count, n.repairs = away, now.Add(logEvery), a.count, a.repairs
	// On a goroutine of its own: a handler is the caller's code, which may call the limiter.
	go l.config.logger.LogAttrs(context.Background(), slog.LevelWarn, text, fields...) //nolint:sloglint // line's
}

// line returns the text of a line of the log, and its fields.
func (l *Limiter) line(away bool) (string, []slog.Attr) {
	a := &l.fallback
	fields := []slog.Attr{
		slog.String("name", l.label), slog.Int("fallbacks", a.count-a.log.count), slog.Duration("away", a.total),
		slog.Int("repairs", a.repairs-a.log.repairs),
	}
	switch {
	case away == a.log.away:
		return "petstoreredis: the state in redis could not be read, and was begun afresh", fields
	case away:
		fields = append(fields, slog.String("error", a.reason.Error()), slog.Int("share", a.share.processes))
		return "petstoreredis: redis is away, this process keeps to its share", fields
	}
	return "petstoreredis: redis is back", fields
}
